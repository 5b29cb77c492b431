"""Converts a log to the messages of Anthropic's Messages API (RT 11.3). Pure.

A reply of the same model goes back as the provider sent it, block by block (`AssistantTurn.native`); any other reply in our form,
which never holds thinking. If two requests share their first rows, they share the beginning of their messages, byte for byte
(invariant 10). For the same reason adjacent messages of one role are not joined: the API treats them as one turn.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import assert_never

from hibernaut.adapters.model.history import AssistantTurn, History, wire_id
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.content import Base64Image, ImageSource, LettaImage, Part, UrlImage
from hibernaut.schemas.messages.message import Message, ToolCall, ToolReturn

THINKING = frozenset({"thinking", "redacted_thinking"})
_NOTHING = "(empty)"
_OPENING: JsonObject = {"role": "user", "content": [{"type": "text", "text": "(the conversation goes on)"}]}

Native = Callable[[AssistantTurn], list[JsonObject] | None]
"""A turn's own blocks for the model of the request, or None."""


def messages(turns: History, native: Native, *, replays_thinking: bool, ends_with_user: bool) -> list[JsonObject]:
    """The messages of the turns. The first one must be the user's, so an initial assistant message gets a user message before it.

    `replays_thinking`: blocks of thinking are part of what goes back. `ends_with_user`: the model refuses to continue a message
    of its own ("Prefill not supported", errors page of the API; Claude 4.6 and later, and all while they think).
    """
    sent: list[JsonObject] = []
    for each in turns:
        if isinstance(each, AssistantTurn):
            spoken = _spoken(each, native(each), replays_thinking=replays_thinking)
            if spoken and ends_with_user and sent and sent[-1]["role"] == "assistant":
                sent.append(_OPENING)
            sent += spoken
        else:
            sent.append({"role": "user", "content": _user_blocks(each)})
    if not sent or sent[0]["role"] == "assistant":
        sent.insert(0, _OPENING)
    if ends_with_user and sent[-1]["role"] == "assistant":
        sent.append(_OPENING)
    return sent


def loop_is_own(turns: History, native: Native) -> bool:
    """Whether all turns since the last message to the model are sent back in its own form, beginning with thinking.

    With a budget (`thinking.type: enabled`) the API refuses a tool loop whose replies lack it: "a final `assistant` message must
    start with a thinking block" (opencode#3077). Adaptive thinking has no such rule.
    """
    loop = [
        each
        for each in takewhile(lambda turn: isinstance(turn, AssistantTurn), reversed(turns))
        if isinstance(each, AssistantTurn)
    ]
    own = [native(each) for each in reversed(loop)]
    return not own or (all(own) and own[0] is not None and own[0][0].get("type") in THINKING)


def _spoken(turn: AssistantTurn, own: list[JsonObject] | None, *, replays_thinking: bool) -> list[JsonObject]:
    if own is None:
        blocks = [block for row in turn.rows for part in row.content if (block := _assistant_block(part))]
        blocks += [_use(call) for call in turn.calls]
    else:
        blocks = _sendable(own, replays_thinking=replays_thinking)
    sent: list[JsonObject] = [{"role": "assistant", "content": blocks}] if blocks else []
    if turn.calls:
        id_of = wire_id if own is None else str
        sent.append({"role": "user", "content": _results([turn.returns[call.id] for call in turn.calls], id_of)})
    return sent


def _sendable(own: Sequence[JsonObject], *, replays_thinking: bool) -> list[JsonObject]:
    """The received blocks, without those that the API does not accept in requests.

    It refuses an empty text, white space without another text (LibreChat-AI/agents#124), and thinking in the last
    message while thinking is off (forgecode#1853).
    """
    blocks = [block for block in own if replays_thinking or block.get("type") not in THINKING]
    spoken = any(str(block.get("text", "")).strip() for block in blocks if block.get("type") == "text")
    return [block for block in blocks if block.get("type") != "text" or (spoken and block.get("text"))]


def _assistant_block(part: Part) -> JsonObject | None:
    match part.type:
        case "text":
            return _text(part.text)
        case "reasoning" if not part.is_native:
            return _text(part.reasoning)
        case _:
            return None


def _text(text: str) -> JsonObject | None:
    """A text block; None for an empty text. Trailing white space is removed: the API refuses both in a final assistant turn."""
    stripped = text.rstrip()
    return {"type": "text", "text": stripped} if stripped else None


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


def _results(returns: Sequence[ToolReturn], id_of: Callable[[str], str]) -> list[JsonObject]:
    """The results in the order of the calls, followed by the images of failed calls.

    "all content must be type `text` if `is_error` is true" (vellum-assistant#18387); results must come before anything else.
    """
    results: list[JsonObject] = []
    images: list[JsonObject] = []
    for each in returns:
        pictures = [_image(image.source) for image in each.images or ()]
        failed = each.status == "error"
        text = each.func_response or ""
        content: str | list[JsonObject] = (
            text if failed or not pictures else [{"type": "text", "text": text or _NOTHING}, *pictures]
        )
        result: JsonObject = {"type": "tool_result", "tool_use_id": id_of(each.tool_call_id), "content": content}
        results.append(result | {"is_error": True, "content": text or _NOTHING} if failed else result)
        images += pictures if failed else []
    return results + images


def _user_blocks(row: Message) -> list[JsonObject]:
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
