"""Builds the request body of OpenAI's Chat Completions (run-time digest 11.3). Pure; knows no connection.

A model's reasoning is not sent back, because this wire format has no place for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from hibernaut.adapters.model.history import AssistantTurn, history, wire_id
from hibernaut.adapters.model.strict_schemas import closed
from hibernaut.domain.models.model_settings import is_openai_reasoning
from hibernaut.ports.model import ModelRequest, ToolChoice, ToolSpec
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.content import Base64Image, ImageSource, LettaImage, Part, UrlImage
from hibernaut.schemas.message import Message, ToolCall, ToolReturn


def payload(request: ModelRequest, *, official: bool) -> JsonObject:
    """The body of POST /chat/completions.

    `official`: the server is OpenAI's own, which requires `max_completion_tokens`; most other servers know only `max_tokens`.
    """
    config = request.config
    reasons = is_openai_reasoning(config.model)
    body: JsonObject = {"model": config.model, "messages": messages(request, developer=reasons)}
    if tools := request.callable_tools:
        body["tools"] = [_tool(tool) for tool in tools]
        body["tool_choice"] = _choice(request.choice)
        if not config.model.startswith(("o1", "o3", "o4")):  # the o series refuses the parameter
            body["parallel_tool_calls"] = request.parallel_tool_calls
    if config.max_tokens is not None:
        body["max_completion_tokens" if official or reasons else "max_tokens"] = config.max_tokens
    if reasons:
        body |= {"reasoning_effort": config.reasoning_effort} if config.reasoning_effort else {}
        body |= {"verbosity": config.verbosity} if config.verbosity else {}
    elif config.temperature is not None:
        body["temperature"] = config.temperature
    if config.frequency_penalty is not None:
        body["frequency_penalty"] = config.frequency_penalty
    if config.response_format is not None and config.response_format.type != "text":
        body["response_format"] = config.response_format.model_dump()
    if request.user:
        body["user"] = request.user
    return body


def messages(request: ModelRequest, *, developer: bool) -> list[JsonObject]:
    """The system message and the log."""
    sent: list[JsonObject] = [{"role": "developer" if developer else "system", "content": request.system}]
    for each in history(request.messages):
        if isinstance(each, AssistantTurn):
            sent += _spoken(each)
        else:
            sent.append({"role": "system" if each.role == "system" else "user", "content": _content(each)})
    return sent


def _spoken(turn: AssistantTurn) -> list[JsonObject]:
    said: JsonObject = {"role": "assistant", "content": _words(turn.rows)}
    if not turn.calls:
        return [said]
    said["content"] = said["content"] or None
    said["tool_calls"] = [
        {
            "id": wire_id(call.id),
            "type": "function",
            "function": {"name": call.function.name, "arguments": call.function.arguments},
        }
        for call in turn.calls
    ]
    returns = turn.returns
    return [
        said,
        *(
            {"role": "tool", "tool_call_id": wire_id(call.id), "content": returns[call.id].func_response or ""}
            for call in turn.calls
        ),
        *(_shown(call, returns[call.id]) for call in turn.calls if returns[call.id].images),
    ]


def _shown(call: ToolCall, returned: ToolReturn) -> JsonObject:
    """A user message with the images of a return, because a tool message holds only text."""
    words = {"type": "text", "text": f"[images given by the call {wire_id(call.id)} of {call.function.name}]"}
    return {"role": "user", "content": [words, *(_image(image.source) for image in returned.images)]}


def _words(rows: Sequence[Message]) -> str:
    """The assistant's text, and the thoughts that it wrote as an argument (these are not native reasoning)."""
    texts: list[str] = []
    for row in rows:
        for part in row.content:
            if part.type == "text":
                texts.append(part.text)
            elif part.type == "reasoning" and not part.is_native:
                texts.append(part.reasoning)
    return "\n".join(texts)


def _content(row: Message) -> str | list[JsonObject]:
    parts = row.content
    if len(parts) == 1 and parts[0].type == "text":
        return parts[0].text
    if any(part.type == "image" for part in parts):
        return [shown for part in parts if (shown := _part(part))]
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


def _choice(choice: ToolChoice) -> str | JsonObject:
    if choice.mode == "named":
        return {"type": "function", "function": {"name": choice.name}}
    return choice.mode


def _tool(tool: ToolSpec) -> JsonObject:
    function: JsonObject = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    if tool.strict and (strict := closed(tool.parameters)) is not None:
        function |= {"parameters": strict, "strict": True}
    return {"type": "function", "function": function}
