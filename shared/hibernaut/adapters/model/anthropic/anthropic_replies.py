"""Parses responses of the Messages API, whole or streamed, into our replies. Validates all input; knows no connection."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hibernaut.adapters.model.anthropic.anthropic_blocks import WRITTEN, is_complete, thought_of, whole_block
from hibernaut.adapters.model.wire.json_fields import count_of, text_of
from hibernaut.adapters.model.wire.provider_errors import model_error, read_refusal
from hibernaut.ports.model import Delta, ModelReply, ModelToolCall
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import InvalidModelResponse, ModelConnection
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.native import NativeReply
from hibernaut.schemas.models.model_call import CacheLife, Exchange, FinishReason
from hibernaut.schemas.usage import Usage

_FINISH: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


@immutable
class Origin:
    """The provider of a reply, and the model's name in the request."""

    provider: str
    model: str


@dataclass(slots=True)
class _AnthropicReply:
    """The content received so far: blocks by index, as in the whole response."""

    origin: Origin
    say: Callable[[Delta], None] | None = None
    blocks: dict[int, JsonObject] = field(default_factory=dict)
    stop: str | None = None
    usage: JsonObject = field(default_factory=dict)
    model: str = ""
    answer_id: str = ""
    begun: bool = False

    def invalid(self, what: str) -> InvalidModelResponse:
        return InvalidModelResponse(f"{self.origin.provider}: {what}")

    def tell(self, delta: Delta) -> None:
        if self.say is not None and delta.text:
            self.say(delta)

    def take_message(self, message: Json) -> None:
        """Add a whole message, or the one that opens a stream."""
        if not isinstance(message, dict) or not isinstance(message.get("content"), list):
            raise self.invalid("the answer holds no message")
        self.begun, self.model, self.answer_id = True, text_of(message, "model"), text_of(message, "id")
        self.stop = text_of(message, "stop_reason") or None
        self.take_usage(message.get("usage"))
        for index, block in enumerate(message["content"]):
            self.open(index, block)

    def take_usage(self, usage: Json) -> None:
        if isinstance(usage, dict):
            self.usage |= {name: value for name, value in usage.items() if value is not None}

    def open(self, index: Json, block: Json) -> None:
        if not isinstance(block, dict) or not isinstance(index, int):
            raise self.invalid("a content block is not one")
        self.blocks[index] = dict(block)
        match block.get("type"):
            case "text":
                self.tell(Delta("text", text_of(block, "text")))
            case "thinking":
                self.tell(Delta("reasoning", text_of(block, "thinking")))
            case "tool_use":
                self.tell(Delta("tool_name", text_of(block, "name"), self._place(index), text_of(block, "id")))
            case _:  # blocks without pieces to report
                pass

    def grow(self, index: Json, delta: Json) -> None:
        block = self.blocks.get(index) if isinstance(index, int) else None
        if block is None or not isinstance(delta, dict):
            raise self.invalid("a piece belongs to no content block")
        match delta.get("type"):
            case "text_delta":
                self._append(block, "text", text_of(delta, "text"))
                self.tell(Delta("text", text_of(delta, "text")))
            case "thinking_delta":
                self._append(block, "thinking", text_of(delta, "thinking"))
                self.tell(Delta("reasoning", text_of(delta, "thinking")))
            case "signature_delta":  # comes once and whole (`accumulate_event`, anthropic 2.12.0)
                block["signature"] = text_of(delta, "signature")
            case "citations_delta":
                block["citations"] = [*(block.get("citations") or ()), delta.get("citation")]
            case "input_json_delta":
                piece = text_of(delta, "partial_json")
                self._append(block, WRITTEN, piece)
                self.tell(Delta("tool_arguments", piece, self._place(index), text_of(block, "id")))
            case _:  # additions of later API versions
                pass

    def _append(self, block: JsonObject, name: str, piece: str) -> None:
        block[name] = text_of(block, name) + piece

    def _place(self, index: int) -> int:
        return sum(1 for at, block in self.blocks.items() if at < index and block.get("type") == "tool_use")

    def body(self) -> JsonObject:
        """The pieces of a stream, in the form of a response without streaming."""
        content = self.content()
        return {
            "id": self.answer_id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": self.stop,
            "usage": self.usage,
        }

    def content(self) -> list[JsonObject]:
        """The content blocks in order, as in a whole response."""
        return [whole_block(self.blocks[index]) for index in sorted(self.blocks)]

    def native(self, finish: FinishReason) -> NativeReply | None:
        """The blocks as they came, to be sent back; None where the reply was cut off inside one of them."""
        items = self.content()
        cut = finish in ("length", "refusal")
        if not items or not all(is_complete(item, cut=cut) for item in items):
            return None
        calls = [item["id"] for item in items if item.get("type") == "tool_use"]
        return NativeReply(wire="messages", provider=self.origin.provider, model=self.origin.model, items=items, calls=calls)

    def reply(self, request_id: str | None, exchange: Exchange) -> ModelReply:
        """The complete reply. Raises: InvalidModelResponse for an empty reply, or a call without a name."""
        blocks = [self.blocks[index] for index in sorted(self.blocks)]
        text = "".join(text_of(block, "text") for block in blocks if block.get("type") == "text")
        calls = tuple(self._call(block) for block in blocks if block.get("type") == "tool_use")
        finish = _FINISH.get(self.stop or "", "other")
        if not text and not calls and finish not in ("length", "refusal"):
            raise self.invalid("the reply is empty")
        return ModelReply(
            text=text,
            reasoning=tuple(part for block in blocks if (part := thought_of(block)) is not None),
            tool_calls=calls,
            finish_reason="tool_calls" if calls and finish in ("stop", "other") else finish,
            usage=_usage(self.usage),
            model=self.model,
            request_id=request_id or self.answer_id or None,
            native=self.native(finish),
            exchange=exchange,
        )

    def _call(self, block: JsonObject) -> ModelToolCall:
        call_id, name = text_of(block, "id"), text_of(block, "name")
        if not call_id or not name:
            raise self.invalid("a tool call without an id or a name")
        return ModelToolCall(call_id, name, text_of(block, WRITTEN) or json.dumps(block.get("input") or {}, ensure_ascii=False))


def whole(origin: Origin, body: JsonObject, request_id: str | None, *, sent: JsonObject) -> ModelReply:
    """The reply in a body, the answer to what was `sent`. Raises: InvalidModelResponse; the error that the body tells of."""
    if body.get("error"):
        raise model_error(read_refusal(origin.provider, 200, body, {}))
    gathered = _AnthropicReply(origin)
    gathered.take_message(body)
    return gathered.reply(request_id, Exchange(sent, body))


def streamed(
    origin: Origin, events: Iterable[JsonObject], say: Callable[[Delta], None], request_id: str | None, *, sent: JsonObject
) -> ModelReply:
    """The reply that the events make up, each piece passed on as it comes. Raises: as `whole`; ModelConnection for a stream that
    ends before its reply does."""
    gathered = _AnthropicReply(origin, say)
    for event in events:
        match event.get("type"):
            case "message_start":
                gathered.take_message(event.get("message"))
            case "content_block_start":
                gathered.open(event.get("index"), event.get("content_block"))
            case "content_block_delta":
                gathered.grow(event.get("index"), event.get("delta"))
            case "message_delta":
                delta = event.get("delta")
                gathered.stop = (text_of(delta, "stop_reason") if isinstance(delta, dict) else "") or gathered.stop
                gathered.take_usage(event.get("usage"))
            case "message_stop":
                break
            case "error":
                raise model_error(read_refusal(origin.provider, 200, event, {}))
            case _:  # pings, the ends of blocks, and additions of later API versions
                pass
    if gathered.stop is None and gathered.begun:
        raise ModelConnection(f"{origin.provider}: the stream ended before its reply did")
    if gathered.stop is None:
        raise gathered.invalid("the stream holds no reply")
    return gathered.reply(request_id, Exchange(sent, gathered.body()))


def _usage(used: JsonObject) -> Usage:
    """The usage; tokens read from and written to the cache count as prompt tokens (RT 13.3)."""
    cached, written = count_of(used, "cache_read_input_tokens"), _written(used)
    prompt = (count_of(used, "input_tokens") or 0) + (cached or 0) + (written or 0)
    completion = count_of(used, "output_tokens") or 0
    details = used.get("output_tokens_details")
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=prompt + completion,
        cached_input_tokens=cached,
        cache_write_tokens=written,
        hour_cache_write_tokens=_written_for(used, "1h"),
        reasoning_tokens=count_of(details, "thinking_tokens") if isinstance(details, dict) else None,
    )


def _written(used: JsonObject) -> int | None:
    """Tokens written to the cache: the sum, or its parts for five minutes and for an hour (`CacheCreation`)."""
    whole = count_of(used, "cache_creation_input_tokens")
    if whole is not None or not isinstance(used.get("cache_creation"), dict):
        return whole
    return (_written_for(used, "5m") or 0) + (_written_for(used, "1h") or 0)


def _written_for(used: JsonObject, life: CacheLife) -> int | None:
    parts = used.get("cache_creation")
    return count_of(parts, f"ephemeral_{life}_input_tokens") if isinstance(parts, dict) else None
