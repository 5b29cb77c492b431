"""Builds the request body of Anthropic's Messages API (run-time digest 11.3). Pure; knows no connection.

Three markers enable prompt caching: on the last tool, on the system message, and, by the body's own `cache_control`, on the last
block of the last message. The last marker is not part of the messages, because it would move with every request: if two requests
share their first rows, their messages share a prefix, byte for byte (invariant 10). For the same reason adjacent messages of one
role are not joined: the API treats them as one turn.
"""

from __future__ import annotations

import json
import re
from typing import assert_never

from hibernaut.adapters.model.history import AssistantTurn, history, wire_id
from hibernaut.adapters.model.strict_schemas import closed
from hibernaut.domain.models.model_settings import SMALLEST_BUDGET, is_anthropic_reasoning
from hibernaut.ports.model import ModelRequest, ToolSpec
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.content import Base64Image, ImageSource, LettaImage, Part, UrlImage
from hibernaut.schemas.llm_config import LLMConfig
from hibernaut.schemas.message import Message, ToolCall, ToolReturn

DEFAULT_MAX_TOKENS = 4096
_CACHED: JsonObject = {"cache_control": {"type": "ephemeral"}}
_ADAPTIVE = re.compile(r"claude-((opus|sonnet)-4-[6-9]|[a-z]+-([5-9]|\d\d)\b)")
_NOTHING = "(empty)"
_OPENING: JsonObject = {"role": "user", "content": [{"type": "text", "text": "(the conversation goes on)"}]}


def payload(request: ModelRequest) -> JsonObject:
    """The body of POST /v1/messages.

    A temperature is sent only if it is not the default: the newest models refuse the parameter, and thinking allows no other
    value.
    """
    config = request.config
    thinking = _thinking(config)
    largest = config.max_tokens or DEFAULT_MAX_TOKENS
    budget = thinking.get("budget_tokens", 0) if thinking else 0
    body: JsonObject = {
        "model": config.model,
        "max_tokens": largest if largest > budget else budget + DEFAULT_MAX_TOKENS,
        "messages": messages(request, thinks=thinking is not None),
    } | _CACHED
    if request.system.strip():
        body["system"] = [{"type": "text", "text": request.system} | _CACHED]
    if request.tools:
        *tools, last = (_tool(tool) for tool in request.tools)
        body["tools"] = [*tools, last | _CACHED]
        body["tool_choice"] = _choice(request)
    if thinking is not None:
        body["thinking"] = thinking
    elif config.temperature not in (None, 1.0):
        body["temperature"] = config.temperature
    if output := _output(config):
        body["output_config"] = output
    if request.user:
        body["metadata"] = {"user_id": request.user}
    return body


def _thinking(config: LLMConfig) -> JsonObject | None:
    if not config.enable_reasoner or not is_anthropic_reasoning(config.model):
        return None
    if _ADAPTIVE.search(config.model):
        return {"type": "adaptive", "display": "summarized"}
    return {"type": "enabled", "budget_tokens": max(config.max_reasoning_tokens, SMALLEST_BUDGET)}


def _output(config: LLMConfig) -> JsonObject:
    wanted: JsonObject = {"effort": config.effort} if config.effort else {}
    if config.response_format is not None and config.response_format.type == "json_schema":
        given = config.response_format.json_schema
        wanted["format"] = {"type": "json_schema", "schema": given.get("schema", given)}
    return wanted


def _choice(request: ModelRequest) -> JsonObject:
    alone: JsonObject = {} if request.parallel_tool_calls else {"disable_parallel_tool_use": True}
    match request.choice.mode:
        case "auto":
            return {"type": "auto"} | alone
        case "required":
            return {"type": "any"} | alone
        case "named":
            return {"type": "tool", "name": request.choice.name} | alone
        case "none":
            return {"type": "none"}
        case mode:
            assert_never(mode)


def _tool(tool: ToolSpec) -> JsonObject:
    shown: JsonObject = {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
    if tool.strict and (strict := closed(tool.parameters)) is not None:
        shown |= {"input_schema": strict, "strict": True}
    return shown


def messages(request: ModelRequest, *, thinks: bool) -> list[JsonObject]:
    """The messages of the log. The first one must be the user's, so an initial assistant message gets a user message before
    it.
    """
    sent: list[JsonObject] = []
    for each in history(request.messages):
        if isinstance(each, AssistantTurn):
            sent += _spoken(each, request.config if thinks else None)
        else:
            sent.append({"role": "user", "content": _heard(each)})
    if not sent or sent[0]["role"] == "assistant":
        sent.insert(0, _OPENING)
    return sent


def _spoken(turn: AssistantTurn, thinker: LLMConfig | None) -> list[JsonObject]:
    blocks = [block for row in turn.rows for part in row.content if (block := _said(part, row, thinker))]
    blocks += [_use(call) for call in turn.calls]
    sent: list[JsonObject] = [{"role": "assistant", "content": blocks}] if blocks else []
    if turn.calls:
        sent.append({"role": "user", "content": [_result(turn.returns[call.id]) for call in turn.calls]})
    return sent


def _said(part: Part, row: Message, thinker: LLMConfig | None) -> JsonObject | None:
    """A block of an assistant's message. Thinking is sent only to the model that made it, because other models cannot verify its
    signature.
    """
    own = thinker is not None and row.model is not None and row.model in (thinker.model, thinker.handle)
    match part.type:
        case "text":
            return _text(part.text)
        case "reasoning" if not part.is_native:
            return _text(part.reasoning)
        case "reasoning" if own and part.signature:
            return {"type": "thinking", "thinking": part.reasoning, "signature": part.signature}
        case "omitted_reasoning" if own and part.signature:
            return {"type": "thinking", "thinking": "", "signature": part.signature}
        case "redacted_reasoning" if own:
            return {"type": "redacted_thinking", "data": part.data}
        case _:
            return None


def _text(text: str) -> JsonObject | None:
    """A text block; None for an empty text. Trailing white space is removed: the API refuses both in a final assistant turn."""
    kept = text.rstrip()
    return {"type": "text", "text": kept} if kept else None


def _use(call: ToolCall) -> JsonObject:
    try:
        arguments = json.loads(call.function.arguments)
    except (ValueError, RecursionError):
        arguments = None
    return {
        "type": "tool_use",
        "id": wire_id(call.id),
        "name": call.function.name,
        "input": arguments if isinstance(arguments, dict) else {},
    }


def _result(returned: ToolReturn) -> JsonObject:
    result: JsonObject = {
        "type": "tool_result",
        "tool_use_id": wire_id(returned.tool_call_id),
        "content": _returned(returned),
    }
    return result | ({"is_error": True} if returned.status == "error" else {})


def _returned(returned: ToolReturn) -> str | list[JsonObject]:
    text = returned.func_response or ""
    if not returned.images:
        return text
    return [{"type": "text", "text": text or _NOTHING}, *(_image(image.source) for image in returned.images)]


def _heard(row: Message) -> list[JsonObject]:
    if row.role == "system":
        return [{"type": "text", "text": f"<system_alert>\n{row.text()}\n</system_alert>"}]
    blocks: list[JsonObject] = []
    for part in row.content:
        if part.type == "text" and part.text.strip():
            blocks.append({"type": "text", "text": part.text})
        elif part.type == "image":
            blocks.append(_image(part.source))
    return blocks or [{"type": "text", "text": _NOTHING}]


def _image(source: ImageSource) -> JsonObject:
    match source:
        case UrlImage():
            return {"type": "image", "source": {"type": "url", "url": source.url}}
        case Base64Image() | LettaImage(data=str()):
            media = source.media_type or "image/png"
            return {"type": "image", "source": {"type": "base64", "media_type": media, "data": source.data}}
        case LettaImage():
            return {"type": "text", "text": f"[image {source.file_id} is not available]"}
        case _:
            assert_never(source)
