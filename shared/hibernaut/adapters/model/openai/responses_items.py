"""One item of a Responses reply, as it grows in a stream or whole, and the form in which a reply's items go back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hibernaut.adapters.model.token_logprobs import tokens
from hibernaut.adapters.model.wire.json_fields import as_list, text_of
from hibernaut.ports.model import Delta, ModelToolCall
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.content import ReasoningContent, ReasoningPart, SummarizedReasoningContent, SummarizedReasoningPart
from hibernaut.schemas.messages.native import NativeReply

_Kind = Literal["reasoning", "text", "tool_name", "tool_arguments"]
BETWEEN = "\n\n"
"""Between the parts of a summary (as `letta_messages` shows them), and between the messages of a reply."""


@dataclass(slots=True)
class ResponseItem:
    """An output item. `number` counts the calls before it; `follows`: an earlier message has text. `item` is the provider's own.

    `parts` are the pieces that were passed on, by kind and index in the order of their beginning.
    """

    kind: str
    say: Callable[[Delta], None] | None
    number: int
    follows: bool
    item: JsonObject = field(default_factory=dict)
    parts: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    named: bool = False

    def take(self, item: JsonObject) -> None:
        """Take the item as it begins or as it ends, and pass on what it holds beyond its pieces."""
        self.item = item
        if self.kind == "function_call" and not self.named and text_of(item, "name"):
            self.named = True
            self._tell("tool_name", text_of(item, "name"))
        for name, index, text in _texts(self.kind, item):
            self.complete(name, index, text)

    def complete(self, name: str, index: int, text: str) -> None:
        """Pass on the part of a complete text that its pieces did not contain."""
        streamed = "".join(self.parts.get((name, index), ()))
        if text.startswith(streamed):
            self.grow(name, index, text[len(streamed) :])

    def grow(self, name: str, index: Json, piece: str) -> None:
        """Pass on a piece."""
        if not piece:
            return
        place = name, index if isinstance(index, int) else 0
        kind: _Kind = "tool_arguments" if name == "arguments" else "text" if name in ("output_text", "refusal") else "reasoning"
        if place not in self.parts:
            first = not self.parts
            if (kind == "reasoning" and not first) or (kind == "text" and first and self.follows):
                self._tell(kind, BETWEEN)
            self.parts[place] = []
        self.parts[place].append(piece)
        self._tell(kind, piece)

    def _tell(self, kind: _Kind, text: str) -> None:
        if self.say is None or not text:
            return
        index, call_id = (self.number, self.call_id) if kind in ("tool_name", "tool_arguments") else (0, "")
        self.say(Delta(kind, text, index, call_id))

    @property
    def texts(self) -> list[str]:
        """The texts as they were passed on, in the order of their beginning."""
        return ["".join(pieces) for pieces in self.parts.values()]

    @property
    def call_id(self) -> str:
        return text_of(self.item, "call_id") or text_of(self.item, "id")

    @property
    def spaced_text(self) -> str:
        """The text of a message with the gap before it."""
        if self.kind != "message" or not self.parts:
            return ""
        return "".join([BETWEEN if self.follows else "", *self.texts])

    @property
    def refused(self) -> bool:
        return any(name == "refusal" for name, _ in self.parts)

    def tokens(self) -> list[Json]:
        """The log probabilities of a message's text."""
        parts = as_list(self.item.get("content")) if self.kind == "message" else []
        return [token for part in parts if isinstance(part, dict) for token in tokens(part.get("logprobs"))]

    def call(self) -> ModelToolCall | None:
        """The tool call of the item; None if it is none."""
        if self.kind != "function_call":
            return None
        return ModelToolCall(self.call_id, text_of(self.item, "name"), "".join(self.texts))

    def thought(self) -> ReasoningPart | None:
        """The reasoning; one that the provider does not show has no parts."""
        if self.kind != "reasoning":
            return None
        if self.parts and all(name == "reasoning_text" for name, _ in self.parts):
            return ReasoningContent(reasoning=BETWEEN.join(self.texts))
        summary = [SummarizedReasoningPart(index=at, text=text) for at, text in enumerate(self.texts)]
        return SummarizedReasoningContent(id=text_of(self.item, "id"), summary=summary)


def _texts(kind: str, item: JsonObject) -> Iterator[tuple[str, int, str]]:
    """The texts of an item with the names and indexes of their pieces."""
    match kind:
        case "function_call":
            yield "arguments", 0, text_of(item, "arguments")
        case "message":
            for index, part in enumerate(as_list(item.get("content"))):
                name = "refusal" if text_of(part, "type") == "refusal" else "output_text"
                yield name, index, text_of(part, "refusal" if name == "refusal" else "text")
        case "reasoning":
            for name, member in (("summary_text", "summary"), ("reasoning_text", "content")):
                for index, part in enumerate(as_list(item.get(member))):
                    yield name, index, text_of(part, "text")
        case _:
            return


def as_native(items: Sequence[ResponseItem], *, provider: str, model: str) -> NativeReply | None:
    """The items in the form to send back; None if our own form is equivalent.

    Reasoning is sent back with its id and its encrypted content, which belongs to this id. The API looks up reasoning without
    encrypted content, and the ids of all other items, among stored responses, and refuses them (langchain-ai/langchain#38372,
    anomalyco/opencode#7724). Reasoning must be followed by its item, so that reasoning at the end of an unfinished reply is
    omitted. A reply with a truncated call is omitted, too.
    """
    if any(each.kind == "function_call" and not _sound(text_of(each.item, "arguments")) for each in items):
        return None
    sent = [returned for each in items if (returned := _returned(each)) is not None]
    while sent and sent[-1].get("type") == "reasoning":
        sent.pop()
    if not any(each["type"] == "reasoning" or each.get("phase") for each in sent):
        return None
    calls = [each.call_id for each in items if each.kind == "function_call"]
    return NativeReply(wire="responses", provider=provider, model=model, items=sent, calls=calls)


def _returned(item: ResponseItem) -> JsonObject | None:
    own = {name: value for name, value in item.item.items() if value not in (None, []) and name != "status"}
    match item.kind:
        case "reasoning":
            sealed = text_of(own, "encrypted_content") and text_of(own, "id")
            return {"summary": [], **own} if sealed else None
        case "message":
            # Without an id this is the only form (types/responses/easy_input_message_param.py).
            text, phase = "".join(item.texts), own.get("phase")
            message: JsonObject = {"type": "message", "role": "assistant", "content": text}
            return message | ({"phase": phase} if phase else {}) if text else None
        case "function_call":
            return {name: value for name, value in own.items() if name != "id"} | {"call_id": item.call_id}
        case _:
            return own


def _sound(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False
