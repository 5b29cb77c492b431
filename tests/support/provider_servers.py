"""Small servers on loopback with the wire formats of providers. They answer from a script and record their requests.

    with ScriptedOpenAI(lambda messages, tools: {"content": "hi"}) as server:
        OpenAIModel(api_key="k", base_url=server.url, …)

A script gets the messages and the tools of the request, in the wire format, and returns an answer. All servers understand these
answers:

    {"content", "reasoning", "signature", "tool_calls": [{"id", "name", "arguments"}], "finish_reason", "usage"}   a reply; with
                                                 {"logprobs"}: the tokens of the content in OpenAI's form, not for Anthropic's
                                                 server
    {"status": 429, "body": {…} or bytes, "headers": {…}}    a refusal, or any other answer
    {"raw": b"…"}     the body of a 200, or of an event stream, as it is
    {"cut": True} with a reply     the connection breaks in the middle of the body
    {"cut_at": n} with a reply     the connection breaks after n bytes of a stream
    {"hang": True}    no answer until the client disconnects
    {"stall": True}   the head of an answer, and then nothing until the client disconnects
    {"drip": True}    bytes arrive for ever, and the answer never ends
    {"before": f} with a reply    f is called with the number of each event of the stream before it is sent, and may delay it
    {"holds": n} with a reply     a stream is silent after n events, until the client disconnects
    {"lingers": True} with a reply     a stream stays open after its last event, until the client disconnects

Embedding calls have a separate script, `embeds`, which gets the body. By default it answers the vectors of `hashing_embedder`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar

from tests.support.provider_http import ScriptedServer, Wire, as_text, pieces


class ScriptedOpenAI(ScriptedServer):
    """A server of Chat Completions. `usage`: the usage object of the wire."""

    prefix = "/v1"
    completions = "/chat/completions"
    embeddings = "/embeddings"
    usage: ClassVar[Wire] = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}

    def listing(self) -> Wire:
        return {
            "object": "list",
            "data": [{"object": "model", "owned_by": "test", "created": 1} | model for model in self.models],
        }

    def whole(self, say: Wire) -> Wire:
        message: Wire = {"role": "assistant", "content": say.get("content")}
        if say.get("reasoning"):
            message["reasoning_content"] = say["reasoning"]
        if calls := say.get("tool_calls"):
            message["tool_calls"] = [self._call(call) for call in calls]
        choice = {"index": 0, "message": message, "finish_reason": self._finish(say)} | _logprobs(say.get("logprobs"))
        return self._frame(choices=[choice], usage=say.get("usage", self.usage), object="chat.completion")

    def events(self, say: Wire) -> Iterator[bytes]:
        yield self._delta({"role": "assistant", "content": ""})
        for piece in pieces(say.get("reasoning") or ""):
            yield self._delta({"reasoning_content": piece})
        told = list(say.get("logprobs") or ())
        for piece in pieces(say.get("content") or ""):
            yield self._delta({"content": piece}, tokens=told[:1])
            told = told[1:]
        for index, call in enumerate(say.get("tool_calls") or ()):
            yield self._delta({"tool_calls": [self._call(call | {"arguments": ""}) | {"index": index}]})
            for piece in pieces(as_text(call["arguments"])):
                yield self._delta({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield self._delta({}, self._finish(say))
        yield self._event(self._frame(choices=[], usage=say.get("usage", self.usage), object="chat.completion.chunk"))
        yield b"data: [DONE]\n\n"

    def _finish(self, say: Wire) -> Any:
        return say.get("finish_reason", "tool_calls" if say.get("tool_calls") else "stop")

    def _call(self, call: Wire) -> Wire:
        return {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": as_text(call["arguments"])}}

    def _delta(self, delta: Wire, finish: Any = None, tokens: list[Any] | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish} | _logprobs(tokens)
        return self._event(self._frame(choices=[choice], usage=None, object="chat.completion.chunk"))

    def _frame(self, **fields: Any) -> Wire:
        return {"id": "chatcmpl-1", "created": 1, "model": "test-model-2026"} | fields

    def _event(self, data: Wire) -> bytes:
        return f"data: {json.dumps(data)}\n\n".encode()


def _logprobs(tokens: Any) -> Wire:
    """The member of a choice; absent where no token has one."""
    return {"logprobs": {"content": tokens, "refusal": None}} if tokens else {}


class ScriptedAnthropic(ScriptedServer):
    """A server of Anthropic's Messages. `usage`: the usage object of the wire. `signature`: the signature of thinking blocks."""

    completions = "/v1/messages"
    usage: ClassVar[Wire] = {"input_tokens": 12, "output_tokens": 5}

    def listing(self) -> Wire:
        rows = [{"type": "model", "display_name": "Test", "created_at": "2026-01-01T00:00:00Z"} | model for model in self.models]
        return {"data": rows, "has_more": False, "first_id": None, "last_id": None}

    def whole(self, say: Wire) -> Wire:
        return self._frame() | {
            "content": self._blocks(say),
            "stop_reason": self._stop(say),
            "usage": say.get("usage", self.usage),
        }

    def events(self, say: Wire) -> Iterator[bytes]:
        used = say.get("usage", self.usage)
        start = self._frame() | {"content": [], "stop_reason": None, "usage": used | {"output_tokens": 1}}
        yield self._event("message_start", message=start)
        yield self._event("ping")
        for index, block in enumerate(self._blocks(say)):
            yield self._event("content_block_start", index=index, content_block=self._opened(block))
            for delta in self._deltas(block):
                yield self._event("content_block_delta", index=index, delta=delta)
            yield self._event("content_block_stop", index=index)
        usage: ClassVar[Wire] = {"output_tokens": used.get("output_tokens", 0)}
        yield self._event("message_delta", delta={"stop_reason": self._stop(say), "stop_sequence": None}, usage=usage)
        yield self._event("message_stop")

    def _frame(self) -> Wire:
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": "test-model-2026", "stop_sequence": None}

    def _stop(self, say: Wire) -> Any:
        finish = say.get("finish_reason", "tool_calls" if say.get("tool_calls") else "stop")
        names = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}
        return names.get(finish, finish)

    def _blocks(self, say: Wire) -> list[Wire]:
        blocks: list[Wire] = []
        if say.get("reasoning"):
            blocks.append({"type": "thinking", "thinking": say["reasoning"], "signature": say.get("signature", "sealed")})
        if say.get("redacted"):
            blocks.append({"type": "redacted_thinking", "data": say["redacted"]})
        if say.get("content"):
            blocks.append({"type": "text", "text": say["content"]})
        for call in say.get("tool_calls") or ():
            blocks.append({"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["arguments"]})
        return blocks

    def _opened(self, block: Wire) -> Wire:
        match block["type"]:
            case "thinking":
                return {"type": "thinking", "thinking": "", "signature": ""}
            case "text":
                return {"type": "text", "text": ""}
            case "tool_use":
                return block | {"input": {}}
            case _:
                return block

    def _deltas(self, block: Wire) -> Iterator[Wire]:
        match block["type"]:
            case "thinking":
                yield from ({"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"]))
                yield {"type": "signature_delta", "signature": block["signature"]}
            case "text":
                yield from ({"type": "text_delta", "text": piece} for piece in pieces(block["text"]))
            case "tool_use":
                yield from ({"type": "input_json_delta", "partial_json": piece} for piece in pieces(as_text(block["input"])))

    def _event(self, kind: str, **fields: Any) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind} | fields)}\n\n".encode()
