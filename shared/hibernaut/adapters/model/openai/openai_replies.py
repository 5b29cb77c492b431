"""Parses responses of a Chat Completions server, whole or streamed, into our replies. Validates all input.

Compatible servers differ: reasoning is in `reasoning_content`, `reasoning` or the text; calls and usage come in many shapes
(`chat_calls`, `chat_usage`). Knows no connection.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hibernaut.adapters.model.dialects import Dialect
from hibernaut.adapters.model.openai.chat_calls import ChatCalls, arguments_of
from hibernaut.adapters.model.openai.chat_usage import usage_in, usage_of
from hibernaut.adapters.model.openai.think_tags import ThinkTags
from hibernaut.adapters.model.token_logprobs import as_logprobs, tokens
from hibernaut.adapters.model.wire.json_fields import as_list, as_text
from hibernaut.adapters.model.wire.provider_errors import model_error, read_refusal
from hibernaut.ports.model import Delta, ModelReply, ModelToolCall
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.content import ReasoningContent
from hibernaut.schemas.errors import InvalidModelResponse, ModelConnection
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.native import NativeReply
from hibernaut.schemas.models.model_call import Exchange, FinishReason
from hibernaut.schemas.usage import Usage

_FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "content_filter": "refusal",
}
_PIECES = ("text", "summary", "data", "signature")
"""The members of a reasoning detail with pieces to join (openrouter.ai, reasoning tokens, streaming)."""


@immutable
class ChatSent:
    """The sent request: the provider's name and dialect, and the body."""

    provider: str
    dialect: Dialect
    sent: JsonObject

    def seed(self) -> str:
        """A text that differs between any two requests of a conversation."""
        return hashlib.sha256(json.dumps(self.sent.get("messages"), sort_keys=True).encode(errors="replace")).hexdigest()


@dataclass(slots=True)
class _ChatReply:
    """The content received so far. `say` receives each piece. `raw` is the text with its tags, `members` are the members to send
    back.
    """

    request: ChatSent
    say: Callable[[Delta], None] | None = None
    text: str = ""
    raw: str = ""
    reasoning: str = ""
    refused: bool = False
    finish: str | None = None
    calls: ChatCalls = field(init=False)
    tags: ThinkTags = field(init=False)
    members: JsonObject = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    answer_id: str = ""
    used: JsonObject | None = None
    content_tokens: list[Json] = field(default_factory=list)
    refusal_tokens: list[Json] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.calls = ChatCalls(self.request.seed)
        self.tags = ThinkTags(off=not self.request.dialect.think_tags)

    def tell(self, delta: Delta) -> None:
        if self.say is not None and delta.text:
            self.say(delta)

    def invalid(self, what: str) -> InvalidModelResponse:
        return InvalidModelResponse(f"{self.request.provider}: {what}")

    @property
    def has_output(self) -> bool:
        """Whether any part of the reply has arrived."""
        return bool(self.raw or self.reasoning or self.calls.calls)

    def take_head(self, body: JsonObject) -> None:
        """Read the parts that a whole response and each chunk share: an error inside a 200, the model, the usage."""
        if body.get("error"):
            raise model_error(read_refusal(self.request.provider, 200, body, {}))
        self.model = as_text(body.get("model")) or self.model
        self.answer_id = as_text(body.get("id")) or self.answer_id
        if (used := usage_in(body)) is not None:
            self.usage, self.used = usage_of(used), used

    def take_message(self, message: JsonObject, *, whole: bool) -> None:
        """Add a message or a delta of one."""
        self._take_thoughts(message, whole=whole)
        if refusal := as_text(message.get("refusal")):
            self.refused = True
        thought, text = _content(message.get("content"))
        self._think(thought)
        self.raw += text or refusal
        for kind, piece in self.tags.take(text or refusal):
            self._think(piece) if kind == "reasoning" else self._speak(piece)
        for item in as_list(message.get("tool_calls")):
            self._take_call(item, whole=whole)

    def take_tokens(self, choice: JsonObject) -> None:
        """Add the log probabilities of a choice or of a piece of one."""
        if isinstance(found := choice.get("logprobs"), dict):
            self.content_tokens += tokens(found.get("content"))
            self.refusal_tokens += tokens(found.get("refusal"))

    def end(self) -> None:
        """The message is complete."""
        for kind, piece in self.tags.end():
            self._think(piece) if kind == "reasoning" else self._speak(piece)

    def _think(self, thought: str) -> None:
        self.reasoning += thought
        self.tell(Delta("reasoning", thought))

    def _speak(self, piece: str) -> None:
        self.text += piece
        self.tell(Delta("text", piece))

    def _take_thoughts(self, message: JsonObject, *, whole: bool) -> None:
        members, goes_back = self.members, self.request.dialect.thoughts
        name = next((name for name in ("reasoning_content", "reasoning") if as_text(message.get(name))), None)
        if name:
            self._think(message[name])
        for each in goes_back & {"reasoning_content", "reasoning"}:
            if isinstance(piece := message.get(each), str):
                members[each] = members.get(each, "") + piece
        if "reasoning_details" in goes_back:
            details, pieces = members.setdefault("reasoning_details", []), as_list(message.get("reasoning_details"))
            details.extend(pieces) if whole else _join(details, pieces)
        if "extra_content" in goes_back and isinstance(extra := message.get("extra_content"), dict):
            members["extra_content"] = members.get("extra_content", {}) | extra

    def _take_call(self, item: Json, *, whole: bool) -> None:
        function = item.get("function") if isinstance(item, dict) else None
        if not isinstance(item, dict) or not isinstance(function, dict):
            raise self.invalid("a tool call without a function")
        at = self.calls.place(item, function, whole=whole)
        call = self.calls.calls[at]
        if isinstance(extra := item.get("extra_content"), dict):
            call.extra = (call.extra or {}) | extra
        if (name := as_text(function.get("name"))) and not call.name:
            call.name = name
            self.tell(Delta("tool_name", name, at, call.id))
        piece = arguments_of(function)
        call.arguments += piece
        self.tell(Delta("tool_arguments", piece, at, call.id))

    def body(self) -> JsonObject:
        """The pieces of a stream, in the form of a response without streaming."""
        message: JsonObject = {"role": "assistant", "content": self.raw or None}
        if self.reasoning and self.raw == self.text:
            message["reasoning_content"] = self.reasoning
        message |= {name: value for name, value in self.members.items() if value}
        if self.calls.calls:
            message["tool_calls"] = [call.item() for call in self.calls.calls]
        choice = {"index": 0, "message": message, "finish_reason": self.finish}
        return {
            "id": self.answer_id, "object": "chat.completion", "model": self.model, "choices": [choice], "usage": self.used
        }  # fmt: skip

    def native(self) -> NativeReply | None:
        """The message as the server wants it back; None: our form is enough.

        Plain reasoning goes back only with calls: between turns no server reads it.
        """
        thoughts, calls = self.request.dialect.thoughts, self.calls.calls
        members = {name: value for name, value in self.members.items() if value}
        sealed = members.keys() & {"reasoning_details", "extra_content"} or any(call.extra for call in calls)
        if not thoughts or not (sealed or (calls and (members or self.raw != self.text))):
            return None
        message: JsonObject = {"role": "assistant", "content": self.raw or None, **members}
        if calls:
            message["tool_calls"] = [call.item() for call in calls]
        model = as_text(self.request.sent.get("model"))
        return NativeReply(
            wire="chat", provider=self.request.provider, model=model, items=[message], calls=[call.id for call in calls]
        )

    def reply(self, request_id: str | None, exchange: Exchange) -> ModelReply:
        """The complete reply. Raises: InvalidModelResponse for an empty reply, or a call without a name."""
        calls = self.calls.calls
        if any(not call.name for call in calls):
            raise self.invalid("a tool call without a name")
        finish = _FINISH.get(self.finish or "stop", "other")
        if not self.text and not calls and finish in ("stop", "tool_calls", "other"):
            raise self.invalid("the reply is empty")
        if self.refused:
            finish = "refusal"
        elif calls and finish in ("stop", "other"):
            finish = "tool_calls"
        return ModelReply(
            text=self.text,
            reasoning=(ReasoningContent(reasoning=self.reasoning),) if self.reasoning else (),
            tool_calls=tuple(ModelToolCall(call.id, call.name, call.arguments) for call in calls),
            finish_reason=finish,
            usage=self.usage,
            model=self.model,
            request_id=request_id or self.answer_id or None,
            native=self.native(),
            logprobs=as_logprobs(self.content_tokens, self.refusal_tokens),
            exchange=exchange,
        )


def whole(request: ChatSent, body: JsonObject, request_id: str | None) -> ModelReply:
    """The reply in a body. Raises: InvalidModelResponse; the error in the body."""
    gathered = _ChatReply(request)
    gathered.take_head(body)
    choice = next(iter(as_list(body.get("choices"))), None)
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise gathered.invalid("the answer holds no message")
    gathered.finish = as_text(choice.get("finish_reason")) or None
    gathered.take_message(message, whole=True)
    gathered.take_tokens(choice)
    gathered.end()
    return gathered.reply(request_id, Exchange(request.sent, body))


def streamed(request: ChatSent, chunks: Iterable[JsonObject], say: Callable[[Delta], None], request_id: str | None) -> ModelReply:
    """The reply of all chunks. Each piece is passed on as it arrives. Raises: as `whole`; ModelConnection for a stream that ends
    before its reply."""
    gathered = _ChatReply(request, say)
    for chunk in chunks:
        gathered.take_head(chunk)
        for choice in as_list(chunk.get("choices"))[:1]:
            if not isinstance(choice, dict):
                raise gathered.invalid("a chunk holds no choice")
            if isinstance(delta := choice.get("delta"), dict):
                gathered.take_message(delta, whole=False)
            gathered.take_tokens(choice)
            gathered.finish = as_text(choice.get("finish_reason")) or gathered.finish
    gathered.end()
    if gathered.finish is None and gathered.has_output:
        raise ModelConnection(f"{request.provider}: the reply was cut off")
    if gathered.finish is None:
        raise gathered.invalid("the stream holds no reply")
    return gathered.reply(request_id, Exchange(request.sent, gathered.body()))


def _join(details: list[Json], pieces: list[Json]) -> None:
    """Add streamed pieces of reasoning details. Pieces with the same index belong to one block and are joined."""
    for piece in pieces:
        last = details[-1] if details else None
        if not isinstance(piece, dict):
            continue
        index = piece.get("index")
        if index is None or not isinstance(last, dict) or (last.get("type"), last.get("index")) != (piece.get("type"), index):
            details.append(dict(piece))
            continue
        for name, value in piece.items():
            if name in _PIECES and isinstance(value, str):
                last[name] = as_text(last.get(name)) + value
            elif value is not None:
                last[name] = value


def _content(value: Json) -> tuple[str, str]:
    """(reasoning, text) of a content: a text, or a list of parts, in which Mistral's thinking is a part of its own."""
    if not isinstance(value, list):
        return "", as_text(value)
    parts = [part for part in value if isinstance(part, dict)]
    thought = "".join(
        as_text(each.get("text")) for part in parts for each in as_list(part.get("thinking")) if isinstance(each, dict)
    )
    return thought, "".join(as_text(part.get("text")) for part in parts)
