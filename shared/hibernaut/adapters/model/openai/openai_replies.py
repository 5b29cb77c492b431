"""Parses responses of a Chat Completions server, whole or streamed, into our replies. Validates all input.

Compatible servers differ: reasoning is in `reasoning_content` or `reasoning`, arguments are text or an object, ids and indexes
may be missing, usage may come with any chunk. Knows no connection.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hibernaut.adapters.model.provider_errors import model_error, read_refusal
from hibernaut.ports.model import Delta, ModelReply, ModelToolCall
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.content import ReasoningContent
from hibernaut.schemas.errors import InvalidModelResponse, ModelConnection
from hibernaut.schemas.model_call import Exchange, FinishReason
from hibernaut.schemas.usage import Usage

_FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "content_filter": "refusal",
}


@dataclass(slots=True)
class _StreamedCall:
    """A call as received so far."""

    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class _OpenAIReply:
    """The content received so far. `say` receives each piece."""

    provider: str
    say: Callable[[Delta], None] | None = None
    text: str = ""
    reasoning: str = ""
    refused: bool = False
    finish: str | None = None
    calls: list[_StreamedCall] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    answer_id: str = ""
    used: JsonObject | None = None

    def tell(self, delta: Delta) -> None:
        if self.say is not None and delta.text:
            self.say(delta)

    def invalid(self, what: str) -> InvalidModelResponse:
        return InvalidModelResponse(f"{self.provider}: {what}")

    @property
    def heard(self) -> bool:
        """Whether any part of the reply has arrived."""
        return bool(self.text or self.reasoning or self.calls)

    def take_head(self, body: JsonObject) -> None:
        """Read the parts that a whole response and each chunk share: an error inside a 200, the model, the usage."""
        if body.get("error"):
            raise model_error(read_refusal(self.provider, 200, body, {}))
        self.model = _text(body.get("model")) or self.model
        self.answer_id = _text(body.get("id")) or self.answer_id
        if isinstance(used := body.get("usage"), dict):
            self.usage, self.used = _usage(used), used

    def take_message(self, message: JsonObject) -> None:
        """Add a message or a delta of one."""
        if thought := _text(message.get("reasoning_content")) or _text(message.get("reasoning")):
            self.reasoning += thought
            self.tell(Delta("reasoning", thought))
        if refusal := _text(message.get("refusal")):
            self.refused = True
        if said := _content(message.get("content")) or refusal:
            self.text += said
            self.tell(Delta("text", said))
        for place, item in enumerate(_list(message.get("tool_calls"))):
            self._take_call(item, place)

    def _take_call(self, item: Json, place: int) -> None:
        function = item.get("function") if isinstance(item, dict) else None
        if not isinstance(item, dict) or not isinstance(function, dict):
            raise self.invalid("a tool call without a function")
        call_id, name = _text(item.get("id")), _text(function.get("name"))
        index = item.get("index")
        at = index if isinstance(index, int) and 0 <= index <= len(self.calls) else place
        if at < len(self.calls) and call_id and self.calls[at].id not in ("", call_id):
            at = len(self.calls)  # some servers give every call the index 0
        if at >= len(self.calls):
            at = len(self.calls)
            self.calls.append(_StreamedCall())
        call = self.calls[at]
        call.id = call.id or call_id or self._made_id(at)
        if name and not call.name:
            call.name = name
            self.tell(Delta("tool_name", name, at, call.id))
        arguments = function.get("arguments")
        piece = arguments if isinstance(arguments, str) else "" if arguments is None else json.dumps(arguments)
        call.arguments += piece
        self.tell(Delta("tool_arguments", piece, at, call.id))

    def _made_id(self, at: int) -> str:
        seed = f"{self.answer_id}/{at}/{len(self.text)}"
        return f"call_{hashlib.sha256(seed.encode(errors='replace')).hexdigest()[:24]}"

    def body(self) -> JsonObject:
        """The pieces of a stream, put together as a server answers that is not asked for one."""
        message: JsonObject = {"role": "assistant", "content": self.text or None}
        if self.reasoning:
            message["reasoning_content"] = self.reasoning
        if self.calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in self.calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": self.finish}
        return {
            "id": self.answer_id, "object": "chat.completion", "model": self.model, "choices": [choice], "usage": self.used
        }  # fmt: skip

    def reply(self, request_id: str | None, exchange: Exchange) -> ModelReply:
        """The whole. Raises: InvalidModelResponse where nothing was said, or a call has no name."""
        if any(not call.name for call in self.calls):
            raise self.invalid("a tool call without a name")
        finish = _FINISH.get(self.finish or "stop", "other")
        if not self.text and not self.calls and finish in ("stop", "tool_calls", "other"):
            raise self.invalid("the reply is empty")
        if self.refused:
            finish = "refusal"
        elif self.calls and finish in ("stop", "other"):
            finish = "tool_calls"
        return ModelReply(
            text=self.text,
            reasoning=(ReasoningContent(reasoning=self.reasoning),) if self.reasoning else (),
            tool_calls=tuple(ModelToolCall(call.id, call.name, call.arguments) for call in self.calls),
            finish_reason=finish,
            usage=self.usage,
            model=self.model,
            request_id=request_id or self.answer_id or None,
            exchange=exchange,
        )


def whole(provider: str, body: JsonObject, request_id: str | None, *, sent: JsonObject) -> ModelReply:
    """The reply in a body, the answer to what was `sent`. Raises: InvalidModelResponse; the error that the body tells of."""
    gathered = _OpenAIReply(provider)
    gathered.take_head(body)
    choice = next(iter(_list(body.get("choices"))), None)
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise gathered.invalid("the answer holds no message")
    gathered.finish = _text(choice.get("finish_reason")) or None
    gathered.take_message(message)
    return gathered.reply(request_id, Exchange(sent, body))


def streamed(
    provider: str, chunks: Iterable[JsonObject], say: Callable[[Delta], None], request_id: str | None, *, sent: JsonObject
) -> ModelReply:
    """The reply that the chunks make up, each piece passed on as it comes. Raises: as `whole`; ModelConnection for a stream that ends
    before its reply does."""
    gathered = _OpenAIReply(provider, say)
    for chunk in chunks:
        gathered.take_head(chunk)
        for choice in _list(chunk.get("choices"))[:1]:
            if not isinstance(choice, dict):
                raise gathered.invalid("a chunk holds no choice")
            if isinstance(delta := choice.get("delta"), dict):
                gathered.take_message(delta)
            gathered.finish = _text(choice.get("finish_reason")) or gathered.finish
    if gathered.finish is None and gathered.heard:
        raise ModelConnection(f"{provider}: the reply was cut off")
    if gathered.finish is None:
        raise gathered.invalid("the stream holds no reply")
    return gathered.reply(request_id, Exchange(sent, gathered.body()))


def _usage(used: JsonObject) -> Usage:
    prompt, completion = _count(used, "prompt_tokens") or 0, _count(used, "completion_tokens") or 0
    of_prompt, of_completion = used.get("prompt_tokens_details"), used.get("completion_tokens_details")
    cached = _count(of_prompt, "cached_tokens") if isinstance(of_prompt, dict) else _count(used, "prompt_cache_hit_tokens")
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=_count(used, "total_tokens") or prompt + completion,
        cached_input_tokens=cached,
        reasoning_tokens=_count(of_completion, "reasoning_tokens") if isinstance(of_completion, dict) else None,
    )


def _count(counts: JsonObject, name: str) -> int | None:
    value = counts.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _content(value: Json) -> str:
    """A text, or the joined texts of a list of parts."""
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, dict))
    return _text(value)


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
