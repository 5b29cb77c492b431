"""Builds the request body of Gemini's `generateContent`. Pure; knows no connection.

Sources: ai.google.dev/gemini-api/docs (generate-content, function-calling, thinking, thought-signatures) and the REST reference
of `Content`, `Tool`, `ToolConfig` and `GenerationConfig`.
"""

from __future__ import annotations

import json
import re
from mimetypes import guess_type
from typing import assert_never

from hibernaut.adapters.model.history import AssistantTurn, history
from hibernaut.adapters.model.token_logprobs import alternatives
from hibernaut.ports.model import ModelRequest, ToolSpec
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.content import Base64Image, ImageSource, LettaImage, Part, UrlImage
from hibernaut.schemas.errors import ModelBadRequest
from hibernaut.schemas.messages.message import Message, ToolCall, ToolReturn
from hibernaut.schemas.models.llm_config import LLMConfig

FOREIGN_SIGNATURE = "skip_thought_signature_validator"
"""The signature of another model's call. From Gemini 3 on, the first call of a step without a signature is refused with 400;
the documentation of thought signatures names this value for a history that was moved from another model."""
SMALLEST_BUDGET = 128
"""The smallest thinking budget of Gemini 2.5 Pro, which cannot disable thinking (documentation of thinking)."""
MOST_TOOLS = 512
"""Function declarations in one request (REST reference of `Tool`)."""
_LEVELS = {"none": "low", "minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "high"}
_NOTHING = "(empty)"
_FAMILY = re.compile(r"gemini-(\d+)(?:\.(\d+))?")


def payload(request: ModelRequest, *, provider: str, vertex: bool = False) -> JsonObject:
    """The body of POST models/{model}:generateContent. `vertex`: for Vertex AI, which takes a list of allowed functions with a
    forced call only (tensorzero/tensorzero#4875), no ids of calls, and files with their type alone.

    Raises: ModelBadRequest if the model cannot do what the configuration demands.
    """
    sent = contents(request, provider)
    body: JsonObject = {"contents": [_for_vertex(each) for each in sent] if vertex else sent}
    if request.system.strip():
        body["systemInstruction"] = {"parts": [{"text": request.system}]}
    if request.tools:
        if len(request.tools) > MOST_TOOLS:
            raise ModelBadRequest(f"{provider}: {len(request.tools)} tools in one request, at most {MOST_TOOLS}; detach some")
        body["tools"] = [{"functionDeclarations": [_declared(tool) for tool in request.tools]}]
        body["toolConfig"] = {"functionCallingConfig": _calling(request, restricts_auto=not vertex)}
    body["generationConfig"] = _generation(request, provider)
    return body


def family(model: str) -> tuple[int, int]:
    """The generation of a model by its name, for example (2, 5). A name without a number counts as the newest."""
    found = _FAMILY.search(model)
    return (int(found[1]), int(found[2] or 0)) if found else (99, 0)


def contents(request: ModelRequest, provider: str) -> list[JsonObject]:
    """The log. A conversation begins with the user's turn, so an initial assistant message gets one before it."""
    model = request.config.model
    sent: list[JsonObject] = []
    for each in history(request.messages):
        if isinstance(each, AssistantTurn):
            sent += _assistant_contents(each, provider, model)
        else:
            sent.append({"role": "user", "parts": _user_parts(each)})
    if not sent or sent[0]["role"] == "model":
        sent.insert(0, {"role": "user", "parts": [{"text": "(the conversation goes on)"}]})
    return sent


def _assistant_contents(turn: AssistantTurn, provider: str, model: str) -> list[JsonObject]:
    own = turn.native("gemini", provider, model)
    parts = own if own is not None else _ours(turn, signed=family(model) >= (3, 0))
    sent: list[JsonObject] = [{"role": "model", "parts": parts}] if parts else []
    if turn.calls:
        ids = [part["functionCall"].get("id") for part in parts if isinstance(part.get("functionCall"), dict)]
        answers: list[JsonObject] = []
        for call, its_id in zip(_in_order(turn, own=own is not None), ids, strict=True):
            answers += _returned(call, turn.returns[call.id], its_id)
        sent.append({"role": "user", "parts": answers})
    return sent


def _in_order(turn: AssistantTurn, *, own: bool) -> list[ToolCall]:
    """The calls in the order in which they are sent: the model's own, or ours."""
    if not own:
        return turn.calls
    by_id = {call.id: call for call in turn.calls}
    return [by_id[call_id] for row in turn.rows if row.native for call_id in row.native.calls]


def _ours(turn: AssistantTurn, *, signed: bool) -> list[JsonObject]:
    parts: list[JsonObject] = []
    for row in turn.rows:
        for part in row.content:
            if part.type == "text" and part.text.strip():
                parts.append({"text": part.text})
            elif part.type == "reasoning" and not part.is_native and part.reasoning.strip():
                parts.append({"text": part.reasoning})
    for place, call in enumerate(turn.calls):
        part_of_call: JsonObject = {"functionCall": {"name": call.function.name, "args": _arguments(call)}}
        parts.append(part_of_call | ({"thoughtSignature": FOREIGN_SIGNATURE} if signed and place == 0 else {}))
    return parts


def _arguments(call: ToolCall) -> JsonObject:
    try:
        values = json.loads(call.function.arguments)
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def _returned(call: ToolCall, returned: ToolReturn, its_id: str | None) -> list[JsonObject]:
    """The response of a call, and its images as parts of the same turn."""
    kind = "error" if returned.status == "error" else "output"
    response: JsonObject = {"name": call.function.name, "response": {kind: returned.func_response or ""}}
    if its_id:
        response["id"] = its_id
    return [{"functionResponse": response}, *(_image(image.source) for image in returned.images)]


def _user_parts(row: Message) -> list[JsonObject]:
    if row.role == "system":
        return [{"text": f"<system_alert>\n{row.text()}\n</system_alert>"}]
    return [content for part in row.content if (content := _part(part))] or [{"text": _NOTHING}]


def _part(part: Part) -> JsonObject | None:
    if part.type == "text":
        return {"text": part.text} if part.text.strip() else None
    return _image(part.source) if part.type == "image" else None


def _image(source: ImageSource) -> JsonObject:
    match source:
        case UrlImage():
            return {"fileData": {"fileUri": source.url}}
        case Base64Image() | LettaImage(data=str()):
            return {"inlineData": {"mimeType": source.media_type or "image/png", "data": source.data}}
        case LettaImage():
            return {"text": f"[image {source.file_id} is not available]"}
        case _:
            assert_never(source)


def _for_vertex(content: JsonObject) -> JsonObject:
    """A content without the ids of calls, which are unknown names there (vercel/ai#15664), and with the media types of files,
    which are required (cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference, `fileData`).
    """
    return content | {"parts": [_part_for_vertex(part) for part in content["parts"]]}


def _part_for_vertex(part: JsonObject) -> JsonObject:
    changed = dict(part)
    for name in ("functionCall", "functionResponse"):
        if isinstance(part.get(name), dict):
            changed[name] = {key: value for key, value in part[name].items() if key != "id"}
    if isinstance(file := part.get("fileData"), dict):
        changed["fileData"] = {"mimeType": guess_type(file["fileUri"])[0] or "image/png"} | file
    return changed


def _declared(tool: ToolSpec) -> JsonObject:
    declaration: JsonObject = {"name": tool.name, "description": tool.description}
    return declaration | ({"parametersJsonSchema": tool.parameters} if tool.parameters.get("properties") else {})


def _calling(request: ModelRequest, *, restricts_auto: bool) -> JsonObject:
    """`allowedFunctionNames` narrows what may be called without changing the declarations, which begin the cached prefix."""
    allowed: JsonObject = {} if request.allowed is None else {"allowedFunctionNames": list(request.allowed)}
    match request.choice.mode:
        case "auto" if allowed and restricts_auto:
            return {"mode": "VALIDATED"} | allowed
        case "auto":
            return {"mode": "AUTO"}
        case "required":
            return {"mode": "ANY"} | allowed
        case "named":
            return {"mode": "ANY", "allowedFunctionNames": [request.choice.name]}
        case "none":
            return {"mode": "NONE"}
        case mode:
            assert_never(mode)


def _generation(request: ModelRequest, provider: str) -> JsonObject:
    config = request.config
    options: JsonObject = {}
    if config.temperature is not None:
        options["temperature"] = config.temperature
    if config.max_tokens is not None:
        options["maxOutputTokens"] = config.max_tokens
    if config.frequency_penalty is not None:
        options["frequencyPenalty"] = config.frequency_penalty
    if (most := alternatives(request)) is not None:
        options |= {"responseLogprobs": True} | ({"logprobs": most} if most else {})
    if thinking := _thinking(config):
        options["thinkingConfig"] = thinking
    return options | _format(request, provider)


def _thinking(config: LLMConfig) -> JsonObject:
    """The thinking options: a budget for 2.5, a level for later models; the API refuses both together. Since 3, thinking cannot
    be disabled.
    """
    generation = family(config.model)
    if generation < (2, 5):
        return {}
    options = {"includeThoughts": config.enable_reasoner}
    if generation < (3, 0):
        least = SMALLEST_BUDGET if "pro" in config.model else 0
        return options | {"thinkingBudget": max(config.max_reasoning_tokens, least) if config.enable_reasoner else least}
    effort = config.effort or config.reasoning_effort
    level = "low" if not config.enable_reasoner else _LEVELS.get(effort, "high") if effort else None
    return options | ({"thinkingLevel": level} if level else {})


def _format(request: ModelRequest, provider: str) -> JsonObject:
    response_format = request.config.response_format
    if response_format is None or response_format.type == "text":
        return {}
    if request.tools and family(request.config.model) < (3, 0):
        raise ModelBadRequest(
            f"{provider}: {request.config.model} takes no response_format together with tools; "
            "use Gemini 3 or later, or detach the tools"
        )
    options: JsonObject = {"responseMimeType": "application/json"}
    if response_format.type == "json_schema":
        options["responseJsonSchema"] = response_format.json_schema.get("schema", response_format.json_schema)
    return options
