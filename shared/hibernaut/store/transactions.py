"""The transactions of the run protocol: which conditions stand on which changes. One function each, all pure but for large bodies.

Everything that one decision was made from is conditioned on, so that a failed condition means one thing: read again (architecture,
the turn machine: ownership, attempts, queue, cancel). The head's condition covers the log (`version`), the owner and the pending
approval; a run's covers its status, the newest attempt, and, for whoever ends it from outside, its journal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from hibernaut.ports.table import ABSENT, PRESENT, Change, Check, Condition, Delete, Op, Put, Term, Update, Value, eq
from hibernaut.schemas.approval import PendingApproval
from hibernaut.schemas.conversation import Head
from hibernaut.schemas.events import DoneEvent, ErrorEvent, RunEvent, StopEvent, UsageEvent
from hibernaut.schemas.message import Message
from hibernaut.schemas.run import StoredRun
from hibernaut.schemas.step import StoredStep
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.schemas.turn import Claim, Journal
from hibernaut.schemas.usage import LettaUsageStatistics
from hibernaut.store import keys
from hibernaut.store.agents import AgentStore
from hibernaut.store.approvals import ApprovalStore
from hibernaut.store.codec import Codec
from hibernaut.store.conversation_records import message_sent, run_ended
from hibernaut.store.conversations import ConversationStore
from hibernaut.store.runs import OPEN_FOR_MS, RunState, RunStore, running, unchanged

INPUT_PAGE = 40
"""Messages of a run's input that one transaction brings into the log: so many that they fit beside what else belongs into it. What a
request holds more waits on the run, and the run's first step appends it page by page before the model is asked."""


@dataclass(frozen=True, slots=True)
class IdempotencyMark:
    """A mark of a request that was accepted: a fingerprint or an otid, kept for `life` seconds.

    `original`: written by a first send, not by its retry. `replaces` is the `ttl` of an expired mark that stands in its place.
    """

    kind: Literal["otid", "fingerprint"]
    value: str
    life: int
    original: bool
    replaces: int | None = None


@dataclass(frozen=True, slots=True)
class StepWrites:
    """What a transaction adds to the log and its surroundings: rows, the step's record, and the events that followers are shown.

    `system` is the system message where the same transaction rewrites it.
    """

    rows: Sequence[Message] = ()
    step: StoredStep | None = None
    events: Sequence[RunEvent] = ()
    system: Message | None = None


@dataclass(frozen=True, slots=True)
class Handover:
    """Who owns the conversation next: the first waiting run and its messages, or nobody.

    `fresh`: the run did not wait but is made by the same transaction, with these marks of its request.
    """

    run: RunState | None = None
    rows: Sequence[Message] = ()
    fresh: Sequence[IdempotencyMark] | None = None


@dataclass(frozen=True, slots=True)
class RunEnding:
    """How a run ends: its last state, and who is next. `outside`: the run as it was read by whoever ends it from outside.

    `asks`: it ends with calls that wait for an approval, which holds the conversation instead of a successor.
    """

    state: RunState
    succession: Handover = field(default_factory=Handover)
    outside: RunState | None = None
    asks: PendingApproval | None = None


@dataclass(frozen=True, slots=True)
class ApprovalConsumption:
    """A pending approval as it is consumed, and the rows that the log gets with it."""

    record: PendingApproval
    rows: Sequence[Message] = ()


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """A conversation as it was found and as it should be; `lost` are places in its queue of which no run waits."""

    before: Head
    after: Head
    rows: Sequence[Message]
    lost: Sequence[str]
    succession: Handover


class Transactions:
    """The transactions of the run protocol."""

    def __init__(
        self,
        tenant: str,
        *,
        codec: Codec,
        conversations: ConversationStore,
        runs: RunStore,
        agents: AgentStore,
        approvals: ApprovalStore,
    ) -> None:
        self._tenant = tenant
        self._codec = codec
        self._conversations = conversations
        self._runs = runs
        self._agents = agents
        self._approvals = approvals

    def accept(
        self,
        before: Head,
        state: RunState,
        rows: Sequence[Message],
        prints: Sequence[IdempotencyMark],
        now: datetime,
    ) -> list[Change]:
        """The run becomes the owner of an idle conversation, and its input stands in the log."""
        after = grown(before, rows, owner=state.run.id)
        return [
            self._conversations.change_head(before, after, state.token),
            *self._runs.create(state, _ms(now) + OPEN_FOR_MS),
            *self._conversations.put_rows(before, rows),
            *self._marks(before.id, state, prints, now),
            *message_sent(self._tenant, state.run, now),
        ]

    def answer(
        self,
        before: Head,
        consumed: ApprovalConsumption,
        state: RunState,
        prints: Sequence[IdempotencyMark],
        now: datetime,
    ) -> list[Change]:
        """The pending approval is consumed by a new run, which owns the conversation; what it resolves stands on it."""
        after = grown(before, consumed.rows, owner=state.run.id)
        after = after.model_copy(update={"pending": None, "answered": consumed.record.run_id})
        return [
            self._conversations.change_head(before, after, state.token),
            self._approvals.consume(consumed.record, state.token),
            *self._runs.create(state, _ms(now) + OPEN_FOR_MS),
            *self._conversations.put_rows(before, consumed.rows),
            *self._marks(before.id, state, prints, now),
            *message_sent(self._tenant, state.run, now),
        ]

    def withdraw(
        self, before: Head, consumed: ApprovalConsumption, succession: Handover, token: str, now: datetime
    ) -> list[Change]:
        """The pending approval is consumed by nobody's run: its calls have their returns, and the conversation is handed on."""
        rows = [*consumed.rows, *succession.rows]
        after = grown(before, rows, owner=succession.run.run.id if succession.run else None)
        after = after.model_copy(update={"pending": None, "answered": consumed.record.run_id})
        if succession.run:
            after = after.model_copy(update={"waiting": before.waiting - 1})
        waiting = Term("waiting", Op.EQ, before.waiting)
        return [
            self._conversations.change_head(before, after, token, waiting),
            self._approvals.consume(consumed.record, token),
            *self._conversations.put_rows(before, rows),
            *self._succeed(before, succession, token, now),
        ]

    def enqueue(self, before: Head, state: RunState, prints: Sequence[IdempotencyMark], now: datetime) -> list[Change]:
        """The run waits: on the condition that there is an owner (or a pending approval), and counted in the head."""
        key = keys.head(self._tenant, before.id)
        held = Term("owner", Op.NE, "") if before.owner else Term("pending", Op.EQ, before.pending or "")
        place = keys.queued(self._tenant, before.id, state.run.id)
        return [
            Update(key, set={"wt": state.token}, add={"waiting": 1}, when=(held, Term("waiting", Op.EQ, before.waiting))),
            *self._runs.create(state, None),
            Put({"pk": place.pk, "sk": place.sk}, ABSENT),
            *self._marks(before.id, state, prints, now),
            *message_sent(self._tenant, state.run, now),
        ]

    def _marks(self, conversation: str, state: RunState, prints: Sequence[IdempotencyMark], now: datetime) -> list[Change]:
        changes: list[Change] = []
        for mark in prints:
            make = keys.otid if mark.kind == "otid" else keys.fingerprint
            key = make(self._tenant, conversation, mark.value)
            item: dict[str, Value] = {"pk": key.pk, "sk": key.sk, "run": state.run.id, "original": mark.original}
            item["ttl"] = int(now.timestamp()) + mark.life
            changes.append(Put(item, ABSENT if mark.replaces is None else eq(ttl=mark.replaces)))
        return changes

    def journal(self, state: RunState, journal: Journal, now: datetime) -> list[Change]:
        """The reply is written before its tools run."""
        mark = Update(
            keys.run(self._tenant, state.run.id), set={"journal": journal.mark, "wt": state.token}, when=running(state.attempt)
        )
        return [mark, self._runs.put_journal(state.run.id, journal, now)]

    def claim(self, state: RunState, claim: Claim, token: str, now: datetime) -> list[Change]:
        """An outside call is begun: once per call, and only while the run is running."""
        return [
            self._runs.put_claim(state, claim, token, now),
            Check(keys.run(self._tenant, state.run.id), running(state.attempt)),
        ]

    def append_input(
        self, before: Head, state: RunState, when: Condition, rows: Sequence[Message], now: datetime
    ) -> list[Change]:
        """The next page of a running run's input comes into the log; `state` is the run with what is left of it."""
        return [
            self._conversations.change_head(before, grown(before, rows, owner=state.run.id), state.token),
            self._runs.change(state, when, max(_ms(now), state.lease) + OPEN_FOR_MS),
            *self._conversations.put_rows(before, rows),
        ]

    def step(
        self,
        before: Head,
        after: Head,
        state: RunState,
        written: StepWrites,
        now: datetime,
    ) -> list[Change]:
        """A step that leads to another: rows, step, events and progress. `state` is the run afterwards, with the attempt that commits."""
        first_seq = state.next_seq
        state = replace(state, next_seq=first_seq + len(written.events))
        return [
            self._conversations.change_head(before, grown(after, written.rows, owner=state.run.id), state.token),
            self._runs.change(state, running(state.attempt), _ms(now) + OPEN_FOR_MS),
            *self._conversations.put_rows(before, written.rows),
            *([self._put_step(written.step)] if written.step else []),
            *([self._runs.put_events(state.run.id, first_seq, written.events, now)] if written.events else []),
        ]

    def last_step(
        self,
        before: Head,
        after: Head,
        ending: RunEnding,
        written: StepWrites,
        now: datetime,
    ) -> list[Change]:
        """The transaction that ends a run: a step's, and the closing events, the release of the conversation, or its handing over.

        Ended from outside, its condition is that the run is still as it was read.
        """
        state, succession = ending.state, ending.succession
        first_seq = state.next_seq
        log = [*written.events, *closing_events(state.run)]
        state = replace(state, next_seq=first_seq + len(log), last_seq=first_seq + len(log) - 1, lease=0, journal="")
        rows = [*written.rows, *succession.rows]
        last = grown(after, rows, owner=succession.run.run.id if succession.run else None)
        if succession.run and succession.fresh is None:
            last = last.model_copy(update={"waiting": before.waiting - 1})
        if ending.asks:
            last = last.model_copy(update={"pending": ending.asks.run_id})
        when = unchanged(ending.outside) if ending.outside else running(state.attempt)
        # Where nobody is chosen from the queue it may grow meanwhile: the answer, or the run that goes before it, hands on.
        chosen = (Term("waiting", Op.EQ, before.waiting),) if ending.asks is None and succession.fresh is None else ()
        return [
            self._conversations.change_head(before, last, state.token, *chosen),
            self._runs.change(state, when, _call_ms(state.run, now)),
            *([self._approvals.create(ending.asks)] if ending.asks else []),
            self._runs.end_row(state.run),
            *self._conversations.put_rows(before, rows),
            *([self._put_step(written.step)] if written.step else []),
            self._runs.put_events(state.run.id, first_seq, log, now),
            self._agents.run_ended(
                state.run.agent_id, now, (state.run.total_duration_ns or 0) // 1_000_000, state.run.stop_reason
            ),
            *run_ended(self._tenant, state.run, now, followed=succession.fresh is not None),
            *self._succeed(before, succession, state.token, now),
        ]

    def cancel_queued(self, before: Head, ending: RunEnding, now: datetime) -> list[Change]:
        """A run that waits ends; its input stays on it, and the log is untouched."""
        state = ending.state
        log = closing_events(state.run)
        state = replace(state, next_seq=1 + len(log), last_seq=len(log))
        key = keys.head(self._tenant, before.id)
        return [
            Update(key, set={"wt": state.token}, add={"waiting": -1}, when=(Term("waiting", Op.EQ, before.waiting),)),
            self._runs.change(state, (Term("status", Op.EQ, RunStatus.CREATED.value),), _call_ms(state.run, now)),
            self._runs.end_row(state.run),
            Delete(keys.queued(self._tenant, before.id, state.run.id), PRESENT),
            self._runs.put_events(state.run.id, 1, log, now),
        ]

    def end_alone(self, ending: RunEnding, now: datetime) -> list[Change]:
        """The end of a run whose conversation is gone: its closing events, and nothing of a log."""
        state, log = ending.state, closing_events(ending.state.run)
        state = replace(state, next_seq=state.next_seq + len(log), last_seq=state.next_seq + len(log) - 1, lease=0, journal="")
        when = unchanged(ending.outside) if ending.outside else running(state.attempt)
        return [
            self._runs.change(state, when, _call_ms(state.run, now)),
            self._runs.end_row(state.run),
            self._runs.put_events(state.run.id, ending.state.next_seq, log, now),
        ]

    def mend(self, mended: RepairPlan, token: str, now: datetime) -> list[Change]:
        """A conversation is put right: what its log lacks, who owns it, who waits."""
        before, succession = mended.before, mended.succession
        rows = [*mended.rows, *succession.rows]
        owner = succession.run.run.id if succession.run else mended.after.owner
        after = grown(mended.after, rows, owner=owner)
        after.version = before.version + 1
        if succession.run:
            after.waiting -= 1
        return [
            self._conversations.change_head(before, after, token, Term("waiting", Op.EQ, before.waiting)),
            *self._conversations.put_rows(before, rows),
            *(Delete(keys.queued(self._tenant, before.id, run_id)) for run_id in mended.lost),
            *self._succeed(before, succession, token, now),
        ]

    def _succeed(self, before: Head, succession: Handover, token: str, now: datetime) -> list[Change]:
        if succession.run is None:
            return []
        state = replace(succession.run, token=token)
        if succession.fresh is not None:
            made = self._runs.create(state, _ms(now) + OPEN_FOR_MS)
            return [*made, *self._marks(before.id, state, succession.fresh, now)]
        return [
            Delete(keys.queued(self._tenant, before.id, state.run.id), PRESENT),
            self._runs.change(state, (Term("status", Op.EQ, RunStatus.CREATED.value),), _ms(now) + OPEN_FOR_MS),
            self._runs.end_row(state.run),
        ]

    def _put_step(self, step: StoredStep) -> Put:
        key = keys.step(self._tenant, step.run_id or "", step.id)
        return Put(self._codec.item(key, step, **keys.listed(self._tenant, "STEPS", step.id)), ABSENT)


def closing_events(run: StoredRun) -> list[RunEvent]:
    """What every run's log ends with (Letta V1 API, digest 6.1 and 6.2)."""
    stop: list[RunEvent] = [StopEvent(stop_reason=run.stop_reason or StopReason.ERROR)]
    if run.error:
        return [*stop, ErrorEvent(error_type=run.error.code, message=run.error.message, detail=run.error.detail), DoneEvent()]
    return [*stop, UsageEvent(usage=statistics(run)), DoneEvent()]


def statistics(run: StoredRun) -> LettaUsageStatistics:
    """The usage of a run as it is shown: what no provider reported is zero, but null to those who follow tokens (digest 4.7)."""
    usage = run.usage.model_dump()
    if not run.options.stream_tokens:
        usage = {name: figure or 0 if name.endswith("_tokens") else figure for name, figure in usage.items()}
    return LettaUsageStatistics(**usage, step_count=run.steps, context_tokens=run.context_tokens)


def _call_ms(run: StoredRun, now: datetime) -> int | None:
    """When the sweep looks whether whoever asked for it was called at the end of the run; None where nobody did."""
    return _ms(now) + OPEN_FOR_MS if run.callback_url else None


def grown(head: Head, rows: Sequence[Message], *, owner: str | None) -> Head:
    """The head after a transaction that appends these rows and leaves the conversation to this owner."""
    return head.model_copy(
        update={
            "owner": owner,
            "version": head.version + 1 if rows or owner != head.owner else head.version,
            "last_message": rows[-1].id if rows else head.last_message,
            "newest": [row.id for row in rows] or head.newest,
            "messages": head.messages + len(rows),
            "calls_open": _leaves_calls_open(rows[-1]) if rows else head.calls_open,
        }
    )


def _leaves_calls_open(newest: Message) -> bool:
    """Whether calls may stand open in a log that ends with this row. Behind the row of an answer they may, until their returns come."""
    return bool(newest.tool_calls) or newest.role == "approval"


def _ms(now: datetime) -> int:
    return int(now.timestamp() * 1000)
