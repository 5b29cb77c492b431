"""Builds the request body of OpenAI's Responses API. Pure; knows no connection.

The server keeps nothing: each request holds the whole log, and a model's reasoning goes back encrypted, in its own items
(`AssistantTurn.native`). The system message is the first item of the input. `instructions` would not do: from GPT-6.2 on the
provider appends them behind the input and never caches them (developers.openai.com, guides/keep-prefix-unchanged), and only an
item can hold a cache breakpoint (`openai` 3.54, types/responses/response_input_text_param.py).
"""

from __future__ import annotations

import hashlib
import re
from typing import assert_never

from hibernaut.adapters.model.history import AssistantTurn, assistant_text, history, wire_id
from hibernaut.adapters.model.openai.responses_models import ModelOptions, model_options
from hibernaut.adapters.model.strict_schemas import closed
from hibernaut.adapters.model.token_logprobs import alternatives, refuse_logprobs
from hibernaut.ports.model import ModelRequest, ToolSpec
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.content import Base64Image, ImageSource, LettaImage, Part, UrlImage
from hibernaut.schemas.errors import ModelBadRequest
from hibernaut.schemas.messages.message import Message, ToolReturn
from hibernaut.schemas.models.llm_config import JsonSchemaResponseFormat, LLMConfig, ResponseFormat

LEAST_OUTPUT = 16
"""Fewer `max_output_tokens` are refused (earendil-works/pi#6265)."""
LONGEST_CACHE_KEY, LONGEST_USER = 64, 128
"""Characters of `prompt_cache_key` (everruns/everruns#1875) and of `safety_identifier`
(types/responses/response_create_params.py).
"""
MOST_TOOLS = 128
"""More are refused (anomalyco/opencode#4909)."""
_DETAILS = ("low", "high", "auto", "original")


def payload(request: ModelRequest, provider: str, omitted: frozenset[str] = frozenset()) -> JsonObject:
    """The body of POST /responses. `omitted`: the parameters that this model has refused (`ResponsesModel`).

    Raises: ModelBadRequest for more tools than the provider accepts.
    """
    if len(request.tools) > MOST_TOOLS:
        raise ModelBadRequest(
            f"{provider}: the agent has {len(request.tools)} tools, and OpenAI takes at most {MOST_TOOLS} in one request; "
            "detach tools from the agent or choose a model of another provider"
        )
    config = request.config
    options = model_options(config.model)
    body: JsonObject = {"model": config.model, "store": False}
    body |= _reasoning(request, options, provider, omitted) | _text(config, options, omitted)
    if config.max_tokens is not None:
        body["max_output_tokens"] = max(config.max_tokens, LEAST_OUTPUT)
    if request.user:
        body["safety_identifier"] = _short(request.user, LONGEST_USER)
    if request.cache_key:
        body["prompt_cache_key"] = _short(request.cache_key, LONGEST_CACHE_KEY)
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        body["tool_choice"] = _choice(request, omitted)
        if options.parallel:
            body["parallel_tool_calls"] = request.parallel_tool_calls
    body["input"] = items(request, provider, omitted)
    return body


def items(request: ModelRequest, provider: str, omitted: frozenset[str] = frozenset()) -> list[JsonObject]:
    """The system message and the log."""
    sent: list[JsonObject] = [_message("developer", [_words(request.system)])] if request.system else []
    for each in history(request.messages):
        if not isinstance(each, AssistantTurn):
            sent.append(_message("developer" if each.role == "system" else "user", _content(each)))
            continue
        own = None if "native" in omitted else each.native("responses", provider, request.config.model)
        sent += _flat(each) if not own else [*own, *_outputs(each, verbatim=True)]
    return sent


def _reasoning(request: ModelRequest, options: ModelOptions, provider: str, omitted: frozenset[str]) -> JsonObject:
    """The effort, or the sampling parameters, which a model accepts only without reasoning.

    Raises: ModelBadRequest for log probabilities of a model that reasons.
    """
    config = request.config
    effort = None if "effort" in omitted else options.effort(config.effort or config.reasoning_effort)
    include, body = [], JsonObject()
    if options.reasons:
        reasoning: JsonObject = {"effort": effort} if effort else {}
        if effort != "none" and "summary" not in omitted:
            reasoning["summary"] = "auto"
        body |= {"reasoning": reasoning} if reasoning else {}
        if "encrypted" not in omitted:
            include.append("reasoning.encrypted_content")
    if options.samples(effort) and "sampling" not in omitted:
        if config.temperature is not None:
            body["temperature"] = config.temperature
        if (most := alternatives(request)) is not None:
            include.append("message.output_text.logprobs")
            body["top_logprobs"] = most
    else:
        off = "while it reasons; set reasoning_effort 'none', if the model takes it"
        refuse_logprobs(request, f"{provider}: {config.model} gives no log probabilities {off}")
    return body | ({"include": include} if include else {})


def _text(config: LLMConfig, options: ModelOptions, omitted: frozenset[str]) -> JsonObject:
    text: JsonObject = {}
    if config.response_format is not None and config.response_format.type != "text":
        text["format"] = _format(config.response_format)
    if config.verbosity and options.verbosity and "verbosity" not in omitted:
        text["verbosity"] = config.verbosity
    return {"text": text} if text else {}


def _format(response_format: ResponseFormat) -> JsonObject:
    """The format of the answer. Unlike in Chat Completions, the schema's members are on the level of the type."""
    if not isinstance(response_format, JsonSchemaResponseFormat):
        return {"type": response_format.type}
    json_schema = response_format.json_schema
    name = re.sub("[^A-Za-z0-9_-]", "_", str(json_schema.get("name") or "answer"))[:64]
    text_format: JsonObject = {"type": "json_schema", "name": name, "schema": json_schema.get("schema") or {}}
    return text_format | {key: json_schema[key] for key in ("description", "strict") if json_schema.get(key) is not None}


def _choice(request: ModelRequest, omitted: frozenset[str]) -> str | JsonObject:
    """The tool choice. It contains the allowed tools, because a change of `tools` would invalidate the provider's cache."""
    choice, names = request.choice, [tool.name for tool in request.tools]
    if choice.mode == "named":
        return {"type": "function", "name": choice.name}
    allowed = names if request.allowed is None else [name for name in names if name in request.allowed]
    if choice.mode == "none" or not allowed:
        return "none"
    if len(allowed) == len(names) or "allowed" in omitted:
        return choice.mode
    return {
        "type": "allowed_tools", "mode": choice.mode, "tools": [{"type": "function", "name": name} for name in allowed]
    }  # fmt: skip


def _tool(tool: ToolSpec) -> JsonObject:
    """The definition of a tool. It always contains `strict`, because the default of this API is true."""
    strict = closed(tool.parameters) if tool.strict else None
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters if strict is None else strict,
        "strict": strict is not None,
    }


def _flat(turn: AssistantTurn) -> list[JsonObject]:
    """A turn in our form, without item ids, because the API refuses ids of replies that it did not store
    (langchain-ai/langchain#38372, anomalyco/opencode#7724).
    """
    text = assistant_text(turn.rows)
    sent: list[JsonObject] = [{"type": "message", "role": "assistant", "content": text}] if text else []
    sent += [
        {
            "type": "function_call",
            "call_id": wire_id(call.id),
            "name": call.function.name,
            "arguments": call.function.arguments,
        }
        for call in turn.calls
    ]
    return [*sent, *_outputs(turn, verbatim=False)]


def _outputs(turn: AssistantTurn, *, verbatim: bool) -> list[JsonObject]:
    """The returns of a turn's calls. `verbatim`: the calls are the provider's own items, with ids that it knows."""
    return [
        {
            "type": "function_call_output",
            "call_id": call.id if verbatim else wire_id(call.id),
            "output": _output(turn.returns[call.id]),
        }
        for call in turn.calls
    ]


def _output(returned: ToolReturn) -> Json:
    text = returned.func_response or ""
    if not returned.images:
        return text
    return [*([_words(text)] if text else []), *(_image(image.source) for image in returned.images)]


def _message(role: str, content: list[JsonObject]) -> JsonObject:
    return {"type": "message", "role": role, "content": content}


def _content(row: Message) -> list[JsonObject]:
    return [content for part in row.content if (content := _part(part))] or [_words("")]


def _part(part: Part) -> JsonObject | None:
    if part.type == "text":
        return _words(part.text)
    return _image(part.source) if part.type == "image" else None


def _words(text: str) -> JsonObject:
    return {"type": "input_text", "text": text}


def _image(source: ImageSource) -> JsonObject:
    """An image; its `detail` is required on this wire (types/responses/response_input_image_param.py)."""
    match source:
        case UrlImage():
            return {"type": "input_image", "image_url": source.url, "detail": "auto"}
        case Base64Image() | LettaImage(data=str()):
            url = f"data:{source.media_type or 'image/png'};base64,{source.data}"
            return {"type": "input_image", "image_url": url, "detail": source.detail if source.detail in _DETAILS else "auto"}
        case LettaImage():
            return _words(f"[image {source.file_id} is not available]")
        case _:
            assert_never(source)


def _short(name: str, longest: int) -> str:
    """The name, or its hash if it is too long."""
    return name if len(name) <= longest else hashlib.sha256(name.encode(errors="replace")).hexdigest()
