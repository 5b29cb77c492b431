"""Parses responses of Bedrock's Converse API, whole or streamed, into our replies. Validates all input; knows no connection.

Sources: `ConverseResponse` and `ConverseStreamOutput` (botocore, `bedrock-runtime`, 2023-09-30).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hibernaut.adapters.model.bedrock.event_stream import StreamEvent
from hibernaut.adapters.model.wire.json_fields import count_of, text_of
from hibernaut.ports.model import Delta, ModelReply, ModelToolCall
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.content import ReasoningContent, ReasoningPart, RedactedReasoningContent
from hibernaut.schemas.errors import InvalidModelResponse, ModelConnection
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.models.model_call import Exchange, FinishReason
from hibernaut.schemas.usage import Usage

_FINISH: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "refusal",
    "content_filtered": "refusal",
}
_FAULTY = frozenset({"malformed_model_output", "malformed_tool_use"})


@immutable
class ConverseSent:
    """The provider, the model's name in the request, and the body of the request."""

    provider: str
    model: str
    body: JsonObject


@dataclass(slots=True)
class _ContentBlock:
    """A content block: what has arrived of its text, its reasoning, or its call."""

    text: str = ""
    thought: str = ""
    signature: str = ""
    redacted: str = ""
    call_id: str = ""
    name: str = ""
    written: str = ""
    values: JsonObject | None = None

    @property
    def is_call(self) -> bool:
        return bool(self.call_id or self.name)

    def as_json(self) -> JsonObject:
        """The block in the form of a response without streaming."""
        if self.is_call:
            values = self.values if self.values is not None else self.written
            return {"toolUse": {"toolUseId": self.call_id, "name": self.name, "input": values}}
        if self.thought or self.signature:
            signed = {"signature": self.signature} if self.signature else {}
            return {"reasoningContent": {"reasoningText": {"text": self.thought} | signed}}
        return {"reasoningContent": {"redactedContent": self.redacted}} if self.redacted else {"text": self.text}


@dataclass(slots=True)
class _ConverseReply:
    """The content received so far: blocks by index, as in the whole response."""

    sent: ConverseSent
    say: Callable[[Delta], None] | None = None
    blocks: dict[int, _ContentBlock] = field(default_factory=dict)
    stop: str | None = None
    used: JsonObject = field(default_factory=dict)

    def invalid(self, what: str) -> InvalidModelResponse:
        return InvalidModelResponse(f"{self.sent.provider}: {what}")

    def block(self, index: Json) -> _ContentBlock:
        if not isinstance(index, int) or isinstance(index, bool):
            raise self.invalid("a piece belongs to no content block")
        return self.blocks.setdefault(index, _ContentBlock())

    def open(self, index: Json, start: Json) -> None:
        block = self.block(index)
        if isinstance(start, dict) and isinstance(use := start.get("toolUse"), dict):
            block.call_id, block.name = text_of(use, "toolUseId"), text_of(use, "name")
            self._tell(index, "tool_name", block.name)

    def grow(self, index: Json, delta: Json) -> None:
        """Add a delta of a stream; members of a whole block have the same form where both are texts."""
        block = self.block(index)
        if not isinstance(delta, dict):
            raise self.invalid("a piece of a content block is not one")
        if piece := text_of(delta, "text"):
            block.text += piece
            self._tell(index, "text", piece)
        if isinstance(use := delta.get("toolUse"), dict):
            block.written += text_of(use, "input")
            self._tell(index, "tool_arguments", text_of(use, "input"))
        if isinstance(thought := delta.get("reasoningContent"), dict):
            block.thought += text_of(thought, "text")
            block.signature += text_of(thought, "signature")
            block.redacted += text_of(thought, "redactedContent")
            self._tell(index, "reasoning", text_of(thought, "text"))

    def take_whole(self, index: int, content: Json) -> None:
        """Add a block of a whole response."""
        if not isinstance(content, dict):
            raise self.invalid("a content block is not one")
        block = self.block(index)
        block.text = text_of(content, "text")
        if isinstance(use := content.get("toolUse"), dict):
            block.call_id, block.name = text_of(use, "toolUseId"), text_of(use, "name")
            values = use.get("input")
            block.values = values if isinstance(values, dict) else {}
        if isinstance(thought := content.get("reasoningContent"), dict):
            reasoning = thought.get("reasoningText")
            block.thought, block.signature = text_of(reasoning, "text"), text_of(reasoning, "signature")
            block.redacted = text_of(thought, "redactedContent")

    def _tell(self, index: Json, kind: str, text: str) -> None:
        if self.say is None or not text:
            return
        match kind:
            case "text":
                self.say(Delta("text", text))
            case "reasoning":
                self.say(Delta("reasoning", text))
            case "tool_name":
                self.say(Delta("tool_name", text, self._place(index), self.block(index).call_id))
            case _:
                self.say(Delta("tool_arguments", text, self._place(index), self.block(index).call_id))

    def _place(self, index: Json) -> int:
        return sum(1 for at, block in self.blocks.items() if isinstance(index, int) and at < index and block.is_call)

    def body(self) -> JsonObject:
        """The pieces of a stream, in the form of a response without streaming."""
        content = [self.blocks[index].as_json() for index in sorted(self.blocks)]
        return {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": self.stop, "usage": self.used}

    def reply(self, request_id: str | None, exchange: Exchange) -> ModelReply:
        """The complete reply. Raises: InvalidModelResponse for an empty reply, or an invalid call."""
        if self.stop in _FAULTY:
            raise self.invalid(f"the model made a reply that cannot be read ({self.stop})")
        blocks = [self.blocks[index] for index in sorted(self.blocks)]
        text = "".join(block.text for block in blocks)
        calls = tuple(self._call(block) for block in blocks if block.is_call)
        finish = _FINISH.get(self.stop or "", "other")
        if not text and not calls and finish not in ("length", "refusal"):
            raise self.invalid("the reply is empty")
        return ModelReply(
            text=text,
            reasoning=tuple(part for block in blocks if (part := _thought(block)) is not None),
            tool_calls=calls,
            finish_reason="tool_calls" if calls and finish in ("stop", "other") else finish,
            usage=_usage(self.used),
            model=self.sent.model,
            request_id=request_id,
            exchange=exchange,
        )

    def _call(self, block: _ContentBlock) -> ModelToolCall:
        if not block.call_id or not block.name:
            raise self.invalid("a tool call without an id or a name")
        arguments = block.written if block.values is None else json.dumps(block.values, ensure_ascii=False)
        return ModelToolCall(block.call_id, block.name, arguments or "{}")


def whole(sent: ConverseSent, body: JsonObject, request_id: str | None) -> ModelReply:
    """The reply in a body. Raises: InvalidModelResponse."""
    gathered = _ConverseReply(sent)
    output = body.get("output")
    message = output.get("message") if isinstance(output, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        raise gathered.invalid("the answer holds no message")
    for index, block in enumerate(content):
        gathered.take_whole(index, block)
    gathered.stop = text_of(body, "stopReason") or None
    gathered.used = _object(body.get("usage"))
    return gathered.reply(request_id, Exchange(sent.body, body))


def streamed(
    sent: ConverseSent, events: Iterable[StreamEvent], say: Callable[[Delta], None], request_id: str | None
) -> ModelReply:
    """The reply that the events make up, each piece passed on as it comes. Raises: InvalidModelResponse; ModelConnection for a
    stream that ends before its reply does."""
    gathered = _ConverseReply(sent, say)
    begun = False
    for event in events:
        begun = True
        match event.kind:
            case "contentBlockStart":
                gathered.open(event.content.get("contentBlockIndex"), event.content.get("start"))
            case "contentBlockDelta":
                gathered.grow(event.content.get("contentBlockIndex"), event.content.get("delta"))
            case "messageStop":
                gathered.stop = text_of(event.content, "stopReason") or "other"
            case "metadata":
                gathered.used = _object(event.content.get("usage"))
            case _:  # the beginning, the ends of blocks, and additions of later API versions
                pass
    if gathered.stop is None:
        if begun:
            raise ModelConnection(f"{sent.provider}: the stream ended before its reply did")
        raise gathered.invalid("the stream holds no reply")
    return gathered.reply(request_id, Exchange(sent.body, gathered.body()))


def _thought(block: _ContentBlock) -> ReasoningPart | None:
    if block.thought:
        return ReasoningContent(reasoning=block.thought, signature=block.signature or None)
    return RedactedReasoningContent(data=block.redacted) if block.redacted else None


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _usage(used: JsonObject) -> Usage:
    """The usage. `inputTokens` excludes tokens that were read from or written to the cache
    (docs.aws.amazon.com/bedrock/latest/userguide/ prompt-caching.html).
    """
    cached, written = count_of(used, "cacheReadInputTokens"), count_of(used, "cacheWriteInputTokens")
    prompt = (count_of(used, "inputTokens") or 0) + (cached or 0) + (written or 0)
    completion = count_of(used, "outputTokens") or 0
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=prompt + completion,
        cached_input_tokens=cached,
        cache_write_tokens=written,
    )
