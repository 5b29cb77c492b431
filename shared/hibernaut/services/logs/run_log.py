"""A run's event log as one follower reads it: page by page, with each message rendered as the run's request demands (architecture
5).

Clients number the events that they receive, from the ping at the start of every stream (Letta V1 API, API 6.4): the ping is
number 1, and each shown event takes the next number. Hidden events take none. The number of an event depends on the events before
it, so a log is always read from its beginning; a client that reconnects skips the events that it has received.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hibernaut.domain.agents.agent_types import spec_of
from hibernaut.domain.wire.delta_messages import render_delta
from hibernaut.domain.wire.letta_messages import Rendering, render
from hibernaut.ports.clock import Clock
from hibernaut.schemas.agents.agent import AgentType
from hibernaut.schemas.base import message_date
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.letta_message import DeltaMessage, EventMessage, LettaMessage
from hibernaut.schemas.runs.events import CompactionEvent, DeltaEvent, DoneEvent, MessageEvent, RunEvent
from hibernaut.store.runs.runs import RunState
from hibernaut.store.stores import TenantStores

PAGE = 100
"""The number of event batches in one read, so that a long log is shown before it is read to its end."""
MAX_READS = 20
"""How often a follower reads again at once while the items of a transaction are not all visible."""
SELDOM = 8
"""After this many reads without an event, a follower checks whether the run still exists and has not ended."""
PING = 1
"""The number of the first ping, as clients count."""


@immutable
class LoggedEvent:
    """An event with its number in the log and its rendered message. `message` is None if the request's filter hides the event, or
    if the message was streamed in pieces.

    `shown_seq` is the event's number as clients count; for a hidden event, the number of the last shown event before it.
    """

    seq: int
    event: RunEvent
    message: LettaMessage | DeltaMessage | EventMessage | None = None
    shown_seq: int = PING

    @property
    def hidden(self) -> bool:
        """Whether followers get no line for the event."""
        return self.message is None and isinstance(self.event, MessageEvent | DeltaEvent | CompactionEvent)


class RunLog:
    """One follower's position in the log. `after` is the last number that it has read, `shown_seq` the last number as clients
    count.

    `whole`: only whole messages, as in a blocking reply; else as a stream shows them, with deltas if the run wrote any. `done`:
    no further events will come. `at_end`: the log was read to its end.
    """

    def __init__(self, stores: TenantStores, clock: Clock, state: RunState, *, whole: bool = False) -> None:
        self._stores = stores
        self._clock = clock
        self._run = state.run
        self._whole = whole
        self._legacy: bool | None = None
        self._aligned = True
        self._unread: list[LoggedEvent] = []
        self._end = state.last_seq if state.ended else None
        self._vain = 0
        self.after = 0
        self.shown_seq = PING
        self.run_id = state.run.id
        self.numbered = bool(state.run.background)
        self.at_end = self._end == 0
        self.done = self.at_end

    def skip(self, number: int) -> bool:
        """Continue after the event with this number, as clients count. Returns False if the current log does not reach it."""
        while self.shown_seq < number and (page := self.look()):
            self._unread = [one for one in page if one.shown_seq > number]
        if self._unread:
            self.shown_seq = number
            self.at_end = self.done = False
        return self.shown_seq >= number

    def look(self) -> list[LoggedEvent]:
        """The new events since the last read, at most one page."""
        if self._unread:
            found, self._unread = self._unread, []
            self._pass(found[-1])
            return found
        for _ in range(MAX_READS):
            if self.done:
                return []
            found = self._page()
            if found:
                self._vain = 0
                return found
            if self._end is None and self._goes_on():
                return []
        self.done = True  # The run has ended, and the rest of its log does not become visible: the log was deleted.
        return []

    def _goes_on(self) -> bool:
        """Whether the caller should wait for further events. False: the run has ended or is deleted; `done` tells whether the log
        is read.
        """
        self._vain += 1
        if self._vain % SELDOM:
            return True
        state = self._stores.runs.get(self.run_id)
        if state is None:
            self.done = True
            return False
        if not state.ended:
            return True
        self._end = state.last_seq
        self.at_end = self.done = self.after >= self._end
        return False

    def _page(self) -> list[LoggedEvent]:
        now = self._clock.now()
        events = self._stores.runs.events(self.run_id, self.after, now, batches=PAGE, aligned=self._aligned)
        found = self._shown(events)
        self._aligned = self._aligned if not found else len(found) == len(events)
        if found:
            self._pass(found[-1])
        return found

    def _pass(self, last: LoggedEvent) -> None:
        self.after, self.shown_seq = last.seq, last.shown_seq
        self.at_end = self.done = isinstance(last.event, DoneEvent)

    def _shown(self, events: Sequence[tuple[int, RunEvent]]) -> list[LoggedEvent]:
        """The rendered events, up to the first whose message is not visible yet: a transaction's items may become visible one by
        one.
        """
        message_events = [event for _, event in events if isinstance(event, MessageEvent) and self._shows(event)]
        rows = self._rows(list(dict.fromkeys(event.message_id for event in message_events))) if message_events else {}
        followed: list[LoggedEvent] = []
        number = self.shown_seq
        for seq, event in events:
            if self._end is not None and seq > self._end:
                break
            if isinstance(event, MessageEvent) and self._shows(event):
                messages = rows.get(event.message_id, [])
                if messages is None:
                    break
                message = self._filtered(messages[event.index] if event.index < len(messages) else None)
            else:
                message = self._filtered(self._other(event))
            one = LoggedEvent(seq, event, message)
            number += not one.hidden
            followed.append(replace(one, shown_seq=number))
            if isinstance(event, DoneEvent):
                break
        return followed

    def _shows(self, event: MessageEvent) -> bool:
        return self._whole or not event.streamed

    def _rows(self, ids: Sequence[str]) -> dict[str, list[LettaMessage] | None]:
        """The rendered messages of each row; None for a row that is not visible yet, an empty list for a row of a deleted log."""
        log = self._run.conversation_id or self._run.agent_id
        options = self._run.options
        rendering = Rendering.of(self._run.request_config, legacy=self._is_legacy())
        types = self._types()
        summaries = (options.include_compaction_messages and not self._whole) or "summary_message" in (types or ())
        rendering = replace(rendering, summaries=summaries)
        found = {row.id: render(row, rendering) for row in self._stores.conversations.messages(log, ids)}
        is_deleted = len(found) < len(ids) and self._stores.conversations.head(log) is None
        missing: list[LettaMessage] | None = [] if is_deleted else None
        return {message_id: found.get(message_id, missing) for message_id in ids}

    def _other(self, event: RunEvent) -> DeltaMessage | EventMessage | None:
        match event:
            case DeltaEvent() if not self._whole:
                return render_delta(event, self.run_id)
            case CompactionEvent() if not self._whole and self._run.options.include_compaction_messages:
                date = message_date(event.at)
                return EventMessage(id=event.summary_id, date=date, event_data=event.data, run_id=self.run_id)
            case _:
                return None

    def _filtered(
        self, message: LettaMessage | DeltaMessage | EventMessage | None
    ) -> LettaMessage | DeltaMessage | EventMessage | None:
        """The message with its run id; None if the request's filter excludes it."""
        types = self._types()
        if message is None or (types is not None and message.message_type not in types):
            return None
        message.run_id = message.run_id or self.run_id
        return message

    def _types(self) -> Sequence[str] | None:
        config = self._run.request_config
        return config.include_return_message_types if config else None

    def _is_legacy(self) -> bool:
        if self._legacy is None:
            self._legacy = self._run.speaks_by_tool
        if self._legacy is None:
            agent = self._stores.agents.get(self._run.agent_id)
            self._legacy = spec_of(agent.agent_type if agent else AgentType.LETTA_V1).heartbeats
        return self._legacy
