"""A small server on loopback with OpenAI's Responses API. It understands the answers of `provider_servers`, and also:

    {"items": [...]}   the output items as they are, instead of "reasoning", "content" and "tool_calls"

`seals`: the encrypted contents by item id.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, ClassVar

from tests.support.provider_http import Recorded, ScriptedServer, Wire, as_text, pieces

INCOMPLETE = {"length": "max_output_tokens"}
_OPEN: Wire = {"message": {"content": []}, "reasoning": {"summary": [], "content": []}, "function_call": {"arguments": ""}}


class ScriptedResponses(ScriptedServer):
    """A server of the Responses API. `usage`: the usage object of the wire."""

    prefix = "/v1"
    completions = "/responses"
    embeddings = "/embeddings"
    usage: ClassVar[Wire] = {"input_tokens": 12, "output_tokens": 5, "total_tokens": 17}

    def answer(self, request: Recorded) -> Wire:
        return self.script(request.body["input"], request.body.get("tools") or [])

    def listing(self) -> Wire:
        rows = [{"object": "model", "owned_by": "test", "created": 1} | model for model in self.models]
        return {"object": "list", "data": rows}

    def whole(self, say: Wire) -> Wire:
        finish = say.get("finish_reason", "stop")
        done = finish in ("stop", "tool_calls")
        return self._frame("completed" if done else "incomplete") | {
            "incomplete_details": None if done else {"reason": INCOMPLETE.get(finish, finish)},
            "output": self.output(say),
            "usage": say.get("usage", self.usage),
        }

    def output(self, say: Wire) -> list[Wire]:
        """The items of a reply."""
        if "items" in say:
            return [*say["items"]]
        made: list[Wire] = []
        if say.get("reasoning"):
            made.append(reasoning(say["reasoning"]))
        if say.get("content"):
            made.append(message(say["content"]))
        return made + [function_call(call["name"], call["arguments"], call["id"]) for call in say.get("tool_calls") or ()]

    def events(self, say: Wire) -> Iterator[bytes]:
        opened = self._frame("in_progress") | {"output": [], "usage": None, "incomplete_details": None}
        yield self.event("response.created", response=opened)
        yield self.event("response.in_progress", response=opened)
        for index, item in enumerate(self.output(say)):
            begun = item | {name: empty for name, empty in _OPEN.get(item["type"], {}).items() if name in item}
            if "status" in item:
                begun["status"] = "in_progress"
            yield self.event("response.output_item.added", output_index=index, item=begun)
            yield from self._grown(item, {"output_index": index, "item_id": item.get("id", "")})
            yield self.event("response.output_item.done", output_index=index, item=item)
        ended = self.whole(say)
        yield self.event(f"response.{ended['status']}", response=ended)

    def _grown(self, item: Wire, place: Wire) -> Iterator[bytes]:
        match item["type"]:
            case "function_call":
                for piece in pieces(item["arguments"]):
                    yield self.event("response.function_call_arguments.delta", delta=piece, **place)
                yield self.event("response.function_call_arguments.done", arguments=item["arguments"], **place)
            case "message":
                for index, part in enumerate(item["content"]):
                    yield from self._part(part, place | {"content_index": index})
            case "reasoning":
                for index, part in enumerate(item["summary"]):
                    yield from self._summary(part, place | {"summary_index": index})
                for index, part in enumerate(item.get("content") or ()):
                    for piece in pieces(part["text"]):
                        yield self.event("response.reasoning_text.delta", delta=piece, content_index=index, **place)
            case _:
                pass

    def _part(self, part: Wire, place: Wire) -> Iterator[bytes]:
        name = "refusal" if part["type"] == "refusal" else "text"
        kind = "refusal" if name == "refusal" else "output_text"
        yield self.event("response.content_part.added", part=part | {name: ""}, **place)
        for piece in pieces(part[name]):
            yield self.event(f"response.{kind}.delta", delta=piece, logprobs=[], obfuscation="xK3", **place)
        yield self.event(f"response.{kind}.done", **{name: part[name]}, logprobs=[], **place)
        yield self.event("response.content_part.done", part=part, **place)

    def _summary(self, part: Wire, place: Wire) -> Iterator[bytes]:
        yield self.event("response.reasoning_summary_part.added", part=part | {"text": ""}, **place)
        for piece in pieces(part["text"]):
            yield self.event("response.reasoning_summary_text.delta", delta=piece, **place)
        yield self.event("response.reasoning_summary_text.done", text=part["text"], **place)
        yield self.event("response.reasoning_summary_part.done", part=part, **place)

    def event(self, kind: str, **fields: Any) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, 'sequence_number': 0} | fields)}\n\n".encode()

    def _frame(self, status: str) -> Wire:
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "model": "test-model-2026",
            "status": status,
            "error": None,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }


def item_id(prefix: str, *parts: Any) -> str:
    """A deterministic id for an item."""
    return f"{prefix}_{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]}"


def reasoning(*summary: str, sealed: bool = True) -> Wire:
    """A reasoning item."""
    made = {
        "id": item_id("rs", summary),
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": text} for text in summary],
    }
    return made | {"encrypted_content": f"gAAAAA-{made['id']}" if sealed else None}


def message(text: str, *, phase: str | None = None, refusal: bool = False) -> Wire:
    """A message item."""
    part: Wire = {"type": "refusal", "refusal": text} if refusal else {"type": "output_text", "text": text, "annotations": []}
    made = {"id": item_id("msg", text), "type": "message", "status": "completed", "role": "assistant", "content": [part]}
    return made | ({"phase": phase} if phase else {})


def function_call(name: str, arguments: Any, call_id: str) -> Wire:
    """A function call item."""
    made = {"id": item_id("fc", call_id), "type": "function_call", "status": "completed", "call_id": call_id, "name": name}
    return made | {"arguments": as_text(arguments)}


INTERLEAVED = [
    reasoning("They live in Oslo.", "I note it."),
    message("I note that.", phase="commentary"),
    function_call("memory_insert", {"label": "human"}, "call_a"),
    reasoning("And I look it up."),
    function_call("conversation_search", {"query": "Oslo"}, "call_b"),
]
"""The items of a reply with reasoning before each of two calls."""
