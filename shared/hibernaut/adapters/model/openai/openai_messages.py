"""Builds the request body of Chat Completions (RT 11.3), for each server what its dialect takes. Pure; knows no
connection.

Reasoning goes back only in a provider's own items (`NativeReply`), to the model that they came from.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import lru_cache
from typing import assert_never

from hibernaut.adapters.model.dialects import AZURE, Dialect
from hibernaut.adapters.model.history import AssistantTurn, assistant_text, history, wire_id
from hibernaut.adapters.model.openai.chat_refusals import bridged
from hibernaut.adapters.model.openai.chat_tools import tools
from hibernaut.adapters.model.openai.responses_models import ModelOptions, model_options
from hibernaut.adapters.model.token_logprobs import alternatives, refuse_logprobs
from hibernaut.domain.models.model_settings import is_openai_reasoning
from hibernaut.ports.model import ModelRequest
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.content import Base64Image, ImageSource, LettaImage, Part, UrlImage
from hibernaut.schemas.errors import ModelBadRequest
from hibernaut.schemas.messages.message import Message, ToolCall, ToolReturn
from hibernaut.schemas.models.llm_config import LLMConfig

NO_SIGNATURE = "skip_thought_signature_validator"
"""What Gemini takes for the signature of calls that it did not make (ai.google.dev/gemini-api/docs/thought-signatures)."""
_TOOLS_WITHOUT_EFFORT = re.compile(r"gpt-(?:5\.(?:[4-9]|\d\d)|[6-9]|\d\d)")
"""Models that take function tools on Chat Completions only while they do not reason (litellm#34569, openai-openapi#541)."""


def payload(request: ModelRequest, dialect: Dialect, provider: str) -> JsonObject:
    """The body of POST /chat/completions. Raises: ModelBadRequest for what the provider does not take on this route."""
    config = request.config
    openais = dialect.effort == "openai" and is_openai_reasoning(config.model)
    body: JsonObject = {"model": config.model, "messages": messages(request, dialect, provider)}
    body |= tools(request, dialect, provider)
    if config.max_tokens is not None:
        body["max_completion_tokens" if openais else dialect.limit_name] = config.max_tokens
    body |= _openai_reasoning(config, dialect, provider, tools="tools" in body) if openais else _sampling(config, dialect)
    if config.frequency_penalty is not None and "frequency_penalty" in dialect.takes:
        body["frequency_penalty"] = config.frequency_penalty
    body |= _format(config, dialect, provider, tools="tools" in body) | _logprobs(
        request, dialect, provider, body.get("reasoning_effort")
    )
    if request.user and "user" in dialect.takes:
        body["user"] = request.user
    if request.cache_key and "prompt_cache_key" in dialect.takes:
        body["prompt_cache_key"] = request.cache_key
    return body


def _openai_reasoning(config: LLMConfig, dialect: Dialect, provider: str, *, tools: bool) -> JsonObject:
    """What OpenAI's reasoning models take in place of a temperature."""
    options = model_options(config.model)
    effort = options.effort(config.effort or config.reasoning_effort)
    if tools and _TOOLS_WITHOUT_EFFORT.match(config.model):
        if "none" not in options.efforts:
            variable = "AZURE_WIRE" if dialect is AZURE else "OPENAI_WIRE" if provider == "openai" else None
            advice = f"set {variable}=responses, or choose" if variable else "which is not called at this address: choose"
            raise ModelBadRequest(
                f"{provider}: {config.model} takes tools only through the Responses API, {advice} another model"
            )
        effort = "none"
    verbosity = config.verbosity if options.verbosity else None
    return ({"reasoning_effort": effort} if effort else {}) | ({"verbosity": verbosity} if verbosity else {})


def _sampling(config: LLMConfig, dialect: Dialect) -> JsonObject:
    body: JsonObject = {}
    if config.temperature is not None and "temperature" in dialect.takes:
        body["temperature"] = config.temperature
    takes_effort = dialect.effort == "any" and re.match(dialect.effort_models, config.model) is not None
    if takes_effort and (effort := ModelOptions(dialect.efforts).effort(config.effort or config.reasoning_effort)):
        body["reasoning_effort"] = effort
    if not config.enable_reasoner and dialect.switch:
        body[dialect.switch] = {"type": "disabled"} if dialect.switch == "thinking" else {"enabled": False}
    return body


def _logprobs(request: ModelRequest, dialect: Dialect, provider: str, effort: str | None) -> JsonObject:
    """Raises: ModelBadRequest if the server has no log probabilities, or none while the model reasons."""
    if (most := alternatives(request)) is None:
        return {}
    config = request.config
    if "logprobs" not in dialect.takes:
        refuse_logprobs(request, f"{provider}: {dialect.title} gives no log probabilities")
    openais = dialect.effort == "openai" and is_openai_reasoning(config.model)
    thinks = (
        not model_options(config.model).samples(effort)
        if openais
        else bool(dialect.switch == "thinking" and config.enable_reasoner)
    )
    if thinks:
        off = "reasoning_effort 'none', if the model takes it" if openais else "enable_reasoner false"
        refuse_logprobs(request, f"{provider}: {config.model} gives no log probabilities while it reasons; set {off}")
    return {"logprobs": True} | ({"top_logprobs": most} if most else {})


def _format(config: LLMConfig, dialect: Dialect, provider: str, *, tools: bool) -> JsonObject:
    response_format = config.response_format
    if response_format is None or response_format.type == "text":
        return {}
    if response_format.type not in dialect.takes:
        raise ModelBadRequest(
            f"{provider}: {dialect.title} takes no response_format {response_format.type!r}; leave it out or choose a model of another provider"
        )
    if tools and not dialect.format_with_tools:
        raise ModelBadRequest(
            f"{provider}: {dialect.title} takes no response_format together with tools; leave it out, detach the tools, or choose a model of another provider"
        )
    return {"response_format": response_format.model_dump()}


def messages(request: ModelRequest, dialect: Dialect, provider: str) -> list[JsonObject]:
    """The system message and the log."""
    developer = dialect.effort == "openai" and is_openai_reasoning(request.config.model)
    sent: list[JsonObject] = [{"role": "developer" if developer else "system", "content": request.system}]
    for each in history(request.messages):
        if isinstance(each, AssistantTurn):
            items = each.native("chat", provider, request.config.model) if dialect.thoughts else None
            sent += _spoken(each, dialect) if items is None else [*items, *_returned(each, str)]
        elif each.role == "system":
            sent.append(_alert(each, dialect))
        else:
            sent.append({"role": "user", "content": _content(each)})
    return sent if dialect.user_after_tool else bridged(sent)


def _alert(row: Message, dialect: Dialect) -> JsonObject:
    """A system message behind the first, such as a message of another agent."""
    if dialect.system_anywhere:
        return {"role": "system", "content": _content(row)}
    return {"role": "user", "content": f"<system_alert>\n{row.text()}\n</system_alert>"}


def _spoken(turn: AssistantTurn, dialect: Dialect) -> list[JsonObject]:
    message: JsonObject = {"role": "assistant", "content": assistant_text(turn.rows)}
    if not turn.calls:
        return [message]
    message["content"] = message["content"] or None
    if dialect.fills == "reasoning_content":
        # One text for all calls makes DeepSeek repeat it (Lingtai-AI/lingtai-kernel#9).
        names = ", ".join(call.function.name for call in turn.calls)
        message["reasoning_content"] = message["content"] or f"The next step is {names} ({turn.calls[0].id})."
    named = _nine if dialect.call_id_length else wire_id
    message["tool_calls"] = [
        {
            "id": named(call.id),
            "type": "function",
            "function": {"name": call.function.name, "arguments": call.function.arguments},
        }
        for call in turn.calls
    ]
    if dialect.fills == "signature":
        message["tool_calls"][0]["extra_content"] = {"google": {"thought_signature": NO_SIGNATURE}}
    return [message, *_returned(turn, named)]


def _returned(turn: AssistantTurn, named: Callable[[str], str]) -> list[JsonObject]:
    """The returns of a turn's calls, then their images."""
    returns = turn.returns
    return [
        *(
            {"role": "tool", "tool_call_id": named(call.id), "content": returns[call.id].func_response or ""}
            for call in turn.calls
        ),
        *(_images_message(call, returns[call.id]) for call in turn.calls if returns[call.id].images),
    ]


@lru_cache(maxsize=10_000)
def _nine(call_id: str) -> str:
    """A call's id as Mistral takes it: nine letters and digits."""
    return (
        call_id if re.fullmatch("[A-Za-z0-9]{9}", call_id) else hashlib.sha256(call_id.encode(errors="replace")).hexdigest()[:9]
    )


def _images_message(call: ToolCall, returned: ToolReturn) -> JsonObject:
    """A user message with the images of a return, because a tool message contains only text."""
    words = {"type": "text", "text": f"[images given by the call {wire_id(call.id)} of {call.function.name}]"}
    return {"role": "user", "content": [words, *(_image(image.source) for image in returned.images)]}


def _content(row: Message) -> str | list[JsonObject]:
    parts = row.content
    if len(parts) == 1 and parts[0].type == "text":
        return parts[0].text
    if any(part.type == "image" for part in parts):
        return [item for part in parts if (item := _part(part))]
    return row.text()


def _part(part: Part) -> JsonObject | None:
    if part.type == "text":
        return {"type": "text", "text": part.text}
    return _image(part.source) if part.type == "image" else None


def _image(source: ImageSource) -> JsonObject:
    match source:
        case UrlImage():
            return {"type": "image_url", "image_url": {"url": source.url}}
        case Base64Image() | LettaImage(data=str()):
            url = f"data:{source.media_type or 'image/png'};base64,{source.data}"
            return {"type": "image_url", "image_url": {"url": url} | ({"detail": source.detail} if source.detail else {})}
        case LettaImage():
            return {"type": "text", "text": f"[image {source.file_id} is not available]"}
        case _:
            assert_never(source)
