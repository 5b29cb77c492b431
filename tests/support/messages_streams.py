"""Replies in the wire format of Anthropic's Messages API: content blocks, whole messages, and streams."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Wire = dict[str, Any]


def thinking(words: str, signature: str = "sealed") -> Wire:
    return {"type": "thinking", "thinking": words, "signature": signature}


def redacted(data: str) -> Wire:
    return {"type": "redacted_thinking", "data": data}


def text(words: str, **more: Any) -> Wire:
    return {"type": "text", "text": words} | more


def use(call: str, **values: Any) -> Wire:
    return {"type": "tool_use", "id": call, "name": "conversation_search", "input": values}


def message(blocks: list[Wire], stop: str = "tool_use") -> Wire:
    usage = {"input_tokens": 1, "output_tokens": 1}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": blocks,
        "stop_reason": stop,
        "usage": usage,
    }


def event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind} | fields)}\n\n".encode()


def stream(blocks: list[Wire], stop: str = "tool_use") -> list[bytes]:
    """The events of a streamed reply, with one delta for each character."""
    events = [event("message_start", message=message([]) | {"stop_reason": None})]
    for index, block in enumerate(blocks):
        events.append(event("content_block_start", index=index, content_block=_opened(block)))
        events += [event("content_block_delta", index=index, delta=delta) for delta in _deltas(block)]
        events.append(event("content_block_stop", index=index))
    events.append(event("message_delta", delta={"stop_reason": stop}, usage={"output_tokens": 1}))
    return [*events, event("message_stop")]


def _opened(block: Wire) -> Wire:
    empty: Wire = {"thinking": {"thinking": "", "signature": ""}, "text": {"text": ""}, "tool_use": {"input": {}}}
    return block | empty.get(block["type"], {})


def _deltas(block: Wire) -> Iterator[Wire]:
    match block["type"]:
        case "thinking":
            yield from ({"type": "thinking_delta", "thinking": letter} for letter in block["thinking"])
            yield {"type": "signature_delta", "signature": block["signature"]}
        case "text":
            yield from ({"type": "text_delta", "text": letter} for letter in block["text"])
        case "tool_use":
            written = json.dumps(block["input"], ensure_ascii=False) if block["input"] else ""
            yield from ({"type": "input_json_delta", "partial_json": letter} for letter in written or [""])
        case _:
            return
