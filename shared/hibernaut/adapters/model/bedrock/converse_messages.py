"""Builds the request body of Bedrock's Converse API. Pure; knows no connection.

Roles alternate, and a conversation begins and ends with the user (ValidationException of Converse;
langchain-ai/langchain-aws#101). Reasoning is never sent back: the models of this API refuse their own reasoning ("User messages
cannot contain reasoning content", can1357/oh-my-pi#9086, langchain-ai/langchain-aws#401).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import assert_never

from hibernaut.adapters.model.bedrock.converse_form import converse_form
from hibernaut.adapters.model.bedrock.converse_models import ConverseTraits
from hibernaut.adapters.model.history import AssistantTurn, history, wire_id
from hibernaut.adapters.model.token_logprobs import refuse_logprobs
from hibernaut.ports.model import ModelRequest, ToolSpec
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.content import Base64Image, ImageSource, LettaImage, Part, UrlImage
from hibernaut.schemas.messages.message import Message, ToolCall, ToolReturn

HIGHEST_TEMPERATURE = 1.0
"""`InferenceConfiguration.temperature`: from 0 to 1; more is refused."""
CACHE_POINT: JsonObject = {"cachePoint": {"type": "default"}}
_NOTHING = "(empty)"
_OPENING: JsonObject = {"text": "(the conversation goes on)"}
_FORMATS = frozenset({"png", "jpeg", "gif", "webp"})


def payload(request: ModelRequest, provider: str, traits: ConverseTraits) -> JsonObject:
    """The body of Converse and ConverseStream. Raises: ModelBadRequest for log probabilities, and for a response format that the
    model does not have.
    """
    refuse_logprobs(request, f"{provider}: Converse gives no log probabilities")
    form = converse_form(request, provider, traits)
    tools = () if form and request.reply_schema is not None else request.tools
    body: JsonObject = {"messages": messages(request.messages, traits, tools=bool(tools))}
    if request.system.strip():
        body["system"] = [{"text": request.system}, *([CACHE_POINT] if traits.caches else [])]
    if limits := _inference(request):
        body["inferenceConfig"] = limits
    if tools:
        body["toolConfig"] = {"tools": [_tool(tool) for tool in tools]} | _choice(request, traits)
    return body | form


def messages(rows: Sequence[Message], traits: ConverseTraits, *, tools: bool) -> list[JsonObject]:
    """The log with adjacent messages of one role joined. `tools`: the request has some."""
    sent: list[JsonObject] = []
    for each in history(rows):
        if isinstance(each, AssistantTurn):
            for role, content in _spoken(each, traits, tools=tools):
                _add(sent, role, content)
        else:
            _add(sent, "user", _user_blocks(each))
    if not sent or sent[0]["role"] == "assistant":
        sent.insert(0, {"role": "user", "content": [_OPENING]})
    if sent[-1]["role"] == "assistant":
        sent.append({"role": "user", "content": [_OPENING]})
    return sent


def _add(sent: list[JsonObject], role: str, content: list[JsonObject]) -> None:
    if not content:
        return
    if sent and sent[-1]["role"] == role:
        sent[-1]["content"] += content
    else:
        sent.append({"role": role, "content": content})


def _spoken(turn: AssistantTurn, traits: ConverseTraits, *, tools: bool) -> list[tuple[str, list[JsonObject]]]:
    """The turn, and the results of its calls. Without tools in the request both are sent as text, because the API would refuse
    them ("The toolConfig field must be defined when using toolUse and toolResult content blocks", BerriAI/litellm#5388).
    """
    blocks = [block for row in turn.rows for part in row.content if (block := _assistant_block(part))]
    if not turn.calls:
        return [("assistant", blocks)]
    returns = [turn.returns[call.id] for call in turn.calls]
    if not tools:
        calls_as_text = [_text(f"[{call.function.name}({call.function.arguments})]") for call in turn.calls]
        returns_as_text = [_text(f"[returned: {each.func_response or _NOTHING}]") for each in returns]
        return [("assistant", blocks + calls_as_text), ("user", returns_as_text)]
    return [("assistant", blocks + [_use(call) for call in turn.calls]), ("user", _results(returns, traits))]


def _assistant_block(part: Part) -> JsonObject | None:
    match part.type:
        case "text" if part.text.strip():
            return _text(part.text.rstrip())
        case "reasoning" if not part.is_native and part.reasoning.strip():
            return _text(part.reasoning.rstrip())
        case _:
            return None


def _text(text: str) -> JsonObject:
    return {"text": text}


def _use(call: ToolCall) -> JsonObject:
    try:
        values = json.loads(call.function.arguments)
    except (ValueError, RecursionError):
        values = None
    return {
        "toolUse": {
            "toolUseId": wire_id(call.id),
            "name": call.function.name,
            "input": values if isinstance(values, dict) else {},
        }
    }


def _results(returns: Sequence[ToolReturn], traits: ConverseTraits) -> list[JsonObject]:
    """The results in the order of the calls. Images stand inside a result where the model takes them there, else behind all
    results.
    """
    results: list[JsonObject] = []
    behind: list[JsonObject] = []
    for each in returns:
        failed = each.status == "error"
        text = each.func_response if (each.func_response or "").strip() else _NOTHING
        content = [_text(f"Error: {text}" if failed and not traits.rich_results else str(text))]
        images = [_image(image.source) for image in each.images or ()]
        (content if traits.rich_results else behind).extend(images)
        result: JsonObject = {"toolUseId": wire_id(each.tool_call_id), "content": content}
        results.append({"toolResult": result | ({"status": "error"} if failed and traits.rich_results else {})})
    return results + behind


def _user_blocks(row: Message) -> list[JsonObject]:
    if row.role == "system":
        return [_text(f"<system_alert>\n{row.text()}\n</system_alert>")]
    blocks: list[JsonObject] = []
    for part in row.content:
        if part.type == "text" and part.text.strip():
            blocks.append(_text(part.text))
        elif part.type == "image":
            blocks.append(_image(part.source))
    return blocks or [_text(_NOTHING)]


def _image(source: ImageSource) -> JsonObject:
    """An image as bytes (`ImageSource.bytes`); a note about one that is an address, or of another format."""
    match source:
        case UrlImage():
            return _text(f"[image {source.url} cannot be shown here]")
        case Base64Image() | LettaImage(data=str()):
            kind = (source.media_type or "image/png").rpartition("/")[2].replace("jpg", "jpeg")
            if kind not in _FORMATS:
                return _text(f"[image of type {source.media_type} cannot be shown here]")
            return {"image": {"format": kind, "source": {"bytes": source.data}}}
        case LettaImage():
            return _text(f"[image {source.file_id} is not available]")
        case _:
            assert_never(source)


def _tool(tool: ToolSpec) -> JsonObject:
    spec: JsonObject = {"name": tool.name, "inputSchema": {"json": tool.parameters}}
    return {"toolSpec": spec | ({"description": tool.description} if tool.description.strip() else {})}


def _choice(request: ModelRequest, traits: ConverseTraits) -> JsonObject:
    """The tool choice. There is none for no tool, and none for several; the rules of the agent refuse calls that do not fit."""
    match request.choice.mode:
        case "required" if traits.forces:
            return {"toolChoice": {"any": {}}}
        case "named" if traits.forces:
            return {"toolChoice": {"tool": {"name": request.choice.name}}}
        case "auto" | "required" | "named" | "none":
            return {}
        case mode:
            assert_never(mode)


def _inference(request: ModelRequest) -> JsonObject:
    config = request.config
    limits: JsonObject = {} if config.max_tokens is None else {"maxTokens": config.max_tokens}
    if config.temperature is not None:
        limits["temperature"] = min(config.temperature, HIGHEST_TEMPERATURE)
    return limits
