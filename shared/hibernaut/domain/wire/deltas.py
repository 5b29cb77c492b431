"""Converts the pieces of a model's reply to events for followers of a token stream (Letta V1 API, API 6.3). Pure: pieces in,
events out.

Joined by id and type, the events equal what `letta_messages.render` makes of the reply's rows, except that a call's arguments are
the model's own text. Knows neither the run's log nor its sequence numbers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import assert_never

from hibernaut.domain.tools.argument_reader import REST, ArgumentReader
from hibernaut.domain.tools.tool_returns import repair_arguments, storable
from hibernaut.domain.turn.actor import Actor
from hibernaut.domain.turn.model_requests import is_held
from hibernaut.domain.wire.letta_messages import Rendering
from hibernaut.schemas.content import ReasoningContent, ReasoningPart, SummarizedReasoningContent
from hibernaut.schemas.messages.native import NativeReply
from hibernaut.schemas.models.model_call import Delta, ModelReply, ModelToolCall
from hibernaut.schemas.runs.events import DeltaEvent, DeltaType
from hibernaut.schemas.runs.turn import Stamp

THINKING = "thinking"


@dataclass(slots=True)
class _DeltaCall:
    """The known part of a call. `kind` None: the call appears as the text of its argument; `early` holds arguments that arrived
    before the name.
    """

    id: str
    kind: DeltaType | None = None
    reader: ArgumentReader | None = None
    name: str | None = None
    named: bool = False
    early: list[str] = field(default_factory=list)


class DeltaRenderer:
    """The stream of one reply. `parallel`: more than the first call counts. `shown` are the types of the messages that were
    streamed so far.
    """

    def __init__(self, actor: Actor, stamp: Stamp, rendering: Rendering, *, parallel: bool) -> None:
        self._actor = actor
        self._stamp = stamp
        self._how = rendering
        self._parallel = parallel
        self._calls: dict[int, _DeltaCall] = {}
        self._type: DeltaType | None = None
        self._index = -1
        self._texted = self._thought = False
        self._out: list[DeltaEvent] = []
        self.shown: set[DeltaType] = set()

    def hear(self, delta: Delta) -> list[DeltaEvent]:
        """The events for the next piece of the reply."""
        self._out = []
        match delta.kind:
            case "reasoning":
                self._tell("reasoning_message", storable(delta.text), native=True)
            case "text":
                self._texted = True
                self._tell("reasoning_message" if self._how.legacy else "assistant_message", storable(delta.text))
            case "tool_name" | "tool_arguments":
                if self._parallel or delta.index == 0:
                    self._of_call(delta)
            case _:
                assert_never(delta.kind)
        return self._out

    def end(self) -> list[DeltaEvent]:
        """The events at the end of the reply: the name of a call without arguments."""
        self._out = []
        for call in self._calls.values():
            if call.kind is not None and not call.named:
                self._name(call, call.kind)
        return self._out

    def _of_call(self, delta: Delta) -> None:
        call = self._calls.get(delta.index)
        if call is None:
            call = self._calls[delta.index] = _DeltaCall(self._unique(delta))
        if delta.kind == "tool_name":
            self._begin(call, delta.text)
            early, call.early = call.early, []
            for text in early:
                self._arguments(call, text)
        elif call.name is None:
            call.early.append(delta.text)
        else:
            self._arguments(call, delta.text)

    def _unique(self, delta: Delta) -> str:
        """The id of the call in its row: two calls of one reply may have the same provider id (`model_requests.calls_of`)."""
        ids = {call.id for call in self._calls.values()}
        call_id = delta.call_id if delta.call_id and delta.call_id not in ids else f"{delta.call_id or 'call'}_{delta.index}"
        return storable(call_id)

    def _begin(self, call: _DeltaCall, name: str) -> None:
        call.name = storable(name)
        if is_held(self._actor, name):
            call.kind = "approval_request_message"
        elif self._how.maps(name):
            call.reader = ArgumentReader(frozenset({THINKING, self._how.assistant_kwarg}))
            return
        else:
            call.kind = "tool_call_message"
            call.reader = ArgumentReader(frozenset({THINKING})) if self._actor.spec.heartbeats else None
        if call.reader is None:
            self._name(call, call.kind)

    def _name(self, call: _DeltaCall, kind: DeltaType) -> None:
        call.named = True
        self._tell(kind, name=call.name, call_id=call.id)

    def _arguments(self, call: _DeltaCall, text: str) -> None:
        if call.reader is None:
            self._written(call, storable(text))
            return
        for member, piece in call.reader.feed(text):
            if member == THINKING:
                self._thinking(piece)
            elif member == REST:
                self._written(call, piece)
            else:
                self._tell("assistant_message", piece)

    def _written(self, call: _DeltaCall, text: str) -> None:
        if call.kind is None:
            return
        if not call.named:
            self._name(call, call.kind)
        self._tell(call.kind, text, call_id=call.id)

    def _thinking(self, text: str) -> None:
        """Stream a thought. Thoughts come after the text, in the order of `as_stored`."""
        apart = self._texted and not self._thought
        self._thought = True
        self._tell("reasoning_message", f"\n{text}" if apart else text)

    def _tell(
        self, kind: DeltaType, text: str = "", *, native: bool = False, name: str | None = None, call_id: str | None = None
    ) -> None:
        if not text and name is None:
            return
        if kind != self._type:
            self._type, self._index = kind, self._index + 1
        self.shown.add(kind)
        is_approval = kind == "approval_request_message"
        self._out.append(
            DeltaEvent(
                message_type=kind,
                message_id=self._stamp.approval_id if is_approval else self._stamp.assistant_id,
                step_id=self._stamp.step_id,
                index=self._index,
                text=text,
                native=native,
                name=name,
                call_id=call_id,
                at=self._stamp.at,
            )
        )


def as_stored(actor: Actor, reply: ModelReply) -> ModelReply:
    """The reply in the form that the log stores, all strings `storable`.

    Thoughts that a legacy agent wrote as an argument of its call are stored after its text, which is private as well. Thoughts of
    a pending call remain among its arguments, because these are shown as the model wrote them.
    """
    calls = tuple(ModelToolCall(storable(call.id), storable(call.name), storable(call.arguments)) for call in reply.tool_calls)
    text = storable(reply.text)
    if actor.spec.heartbeats and calls and not is_held(actor, calls[0].name):
        thoughts = repair_arguments(calls[0].arguments).thinking
        text = "\n".join(part for part in (text, storable(thoughts or "")) if part)
    thoughts_kept = tuple(_storable(part) for part in reply.reasoning)
    return replace(reply, text=text, reasoning=thoughts_kept, tool_calls=calls, native=_storable_native(reply.native))


def _storable_native(native: NativeReply | None) -> NativeReply | None:
    """None where an item holds text that cannot be stored: changed items are of no use to their provider."""
    if native is None:
        return None
    serialised = json.dumps(native.items, ensure_ascii=False)
    return native if storable(serialised) == serialised else None


def _storable(part: ReasoningPart) -> ReasoningPart:
    if isinstance(part, ReasoningContent) and not part.reasoning.isascii():
        return part.model_copy(update={"reasoning": storable(part.reasoning)})
    if isinstance(part, SummarizedReasoningContent):
        summary = [each.model_copy(update={"text": storable(each.text)}) for each in part.summary]
        return part.model_copy(update={"summary": summary})
    return part


def merged(events: list[DeltaEvent], more: list[DeltaEvent]) -> list[DeltaEvent]:
    """The events followed by `more`; adjacent pieces of one message are joined. A call's name remains a separate event."""
    all_of_them = list(events)
    for event in more:
        last = all_of_them[-1] if all_of_them else None
        if last is not None and last.name is None and event.name is None and _place(last) == _place(event):
            all_of_them[-1] = last.model_copy(update={"text": last.text + event.text})
        else:
            all_of_them.append(event)
    return all_of_them


def _place(event: DeltaEvent) -> tuple[object, ...]:
    return event.message_type, event.message_id, event.index, event.native, event.call_id
