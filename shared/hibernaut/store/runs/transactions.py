"""The transactions of the run protocol. Each function returns the changes of one transaction with their conditions.

The functions have one side effect: the codec stores a body that is too large for its item in a blob.

A transaction has a condition on everything that its decision was made from. A failed condition therefore means one thing: read
again (architecture, the turn machine: ownership, attempts, queue, cancel). The condition of a head covers the log (`version`),
the owner and the pending approval. The condition of a run covers its status and its newest attempt. Where a run is ended from
outside, the condition covers its status, its journal and its write token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from hibernaut.domain.agents.agent_calls import awaited_by
from hibernaut.domain.agents.group_turns import shown_usage
from hibernaut.domain.aws_prices import PRICES_DATE, cost_of
from hibernaut.domain.events import approval_requested, run_finished
from hibernaut.ports.storage.table import ABSENT, PRESENT, Change, Check, Condition, Delete, Op, Put, Term, Update, Value, eq
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.events.facts import Fact
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.events import DoneEvent, ErrorEvent, RunEvent, StopEvent, UsageEvent
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.schemas.runs.step import StoredStep
from hibernaut.schemas.runs.turn import Claim, Journal
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.schemas.usage import LettaUsageStatistics
from hibernaut.store.access.budgets import BudgetStore
from hibernaut.store.agents.agents import AgentStore
from hibernaut.store.conversations.conversation_records import message_sent, run_ended
from hibernaut.store.conversations.conversations import LONG, ConversationStore
from hibernaut.store.events.outbox import EventOutbox
from hibernaut.store.runs.approvals import ApprovalStore
from hibernaut.store.runs.idempotency import OTID_LIFE
from hibernaut.store.runs.runs import OPEN_FOR_MS, RunState, RunStore, running, unchanged
from hibernaut.store.runs.steps import bare
from hibernaut.store.runs.transaction_values import (
    INPUT_PAGE,
    ApprovalConsumption,
    Handover,
    IdempotencyMark,
    RepairPlan,
    RunEnding,
    StepWrites,
)
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec


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
        budgets: BudgetStore,
        events: EventOutbox,
    ) -> None:
        self._tenant = tenant
        self._codec = codec
        self._conversations = conversations
        self._runs = runs
        self._agents = agents
        self._approvals = approvals
        self._budgets = budgets
        self._events = events

    def accept(
        self,
        before: Head,
        state: RunState,
        rows: Sequence[Message],
        prints: Sequence[IdempotencyMark],
        now: datetime,
    ) -> list[Change]:
        """Create a run as the owner of an idle conversation and append its input to the log."""
        after = grown(before, rows, owner=state.run.id)
        return [
            self._conversations.change_head(before, after, state.token),
            *self._runs.create(state, _ms(now) + OPEN_FOR_MS),
            *self._conversations.put_rows(before, rows),
            *self._budgets.taken(state.run.budgets),
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
        """Create a run that consumes the pending approval and owns the conversation. The run records the calls that it
        resolves.
        """
        after = grown(before, consumed.rows, owner=state.run.id)
        after = after.model_copy(update={"pending": None, "answered": consumed.record.run_id})
        return [
            self._conversations.change_head(before, after, state.token),
            self._approvals.consume(consumed.record, state.token),
            *self._runs.create(state, _ms(now) + OPEN_FOR_MS),
            *self._conversations.put_rows(before, consumed.rows),
            *self._budgets.taken(state.run.budgets),
            *self._marks(before.id, state, prints, now),
            *message_sent(self._tenant, state.run, now),
        ]

    def withdraw(
        self, before: Head, consumption: ApprovalConsumption, succession: Handover, token: str, now: datetime
    ) -> list[Change]:
        """Consume the pending approval without a new run. The rows hold the returns of its calls; the successor owns the
        conversation.
        """
        rows = [*consumption.rows, *succession.rows]
        after = grown(before, rows, owner=succession.run.run.id if succession.run else None)
        after = after.model_copy(update={"pending": None, "answered": consumption.record.run_id})
        if succession.run:
            after = after.model_copy(update={"waiting": before.waiting - 1})
        queue_term = Term("waiting", Op.EQ, before.waiting)
        return [
            self._conversations.change_head(before, after, token, queue_term),
            self._approvals.consume(consumption.record, token),
            *self._conversations.put_rows(before, rows),
            *self._succeed(before, succession, token, now),
        ]

    def enqueue(self, before: Head, state: RunState, request_marks: Sequence[IdempotencyMark], now: datetime) -> list[Change]:
        """Create a run in the queue of the conversation and count it in the head.

        Condition: the conversation has the owner or the pending approval that was read. Otherwise a run might have left the queue
        unseen, as another one entered it, and the messages that it had not appended yet would not have been found.
        """
        key = keys.head(self._tenant, before.id)
        owner_term = Term("owner", Op.EQ, before.owner) if before.owner else Term("pending", Op.EQ, before.pending or "")
        place = keys.queued(self._tenant, before.id, state.run.id)
        return [
            Update(key, set={"wt": state.token}, add={"waiting": 1}, when=(owner_term, Term("waiting", Op.EQ, before.waiting))),
            *self._runs.create(state, None),
            Put({"pk": place.pk, "sk": place.sk, **({LONG: True} if len(state.run.input) > INPUT_PAGE else {})}, ABSENT),
            *self._budgets.taken(state.run.budgets),
            *self._marks(before.id, state, request_marks, now),
            *message_sent(self._tenant, state.run, now),
        ]

    def _marks(self, conversation: str, state: RunState, prints: Sequence[IdempotencyMark], now: datetime) -> list[Change]:
        return [
            Put(
                self._mark(conversation, state, mark, now),
                ABSENT if mark.replaces is None else eq(ttl=mark.replaces),
            )
            for mark in prints
        ]

    def _mark(self, conversation: str, state: RunState, mark: IdempotencyMark, now: datetime) -> dict[str, Value]:
        make = keys.otid if mark.kind == "otid" else keys.fingerprint
        key = make(self._tenant, conversation, mark.value)
        ttl = int(now.timestamp()) + mark.life
        return {"pk": key.pk, "sk": key.sk, "run": state.run.id, "original": mark.original, "ttl": ttl}

    def journal(self, state: RunState, journal: Journal, now: datetime) -> list[Change]:
        """Write the model's reply to the journal, before its tools run."""
        mark = Update(
            keys.run(self._tenant, state.run.id), set={"journal": journal.mark, "wt": state.token}, when=running(state.attempt)
        )
        return [mark, self._runs.put_journal(state.run.id, journal, now)]

    def claim(self, state: RunState, claim: Claim, token: str, now: datetime) -> list[Change]:
        """Claim an outside call. Conditions: the call has no claim, the run is running, and the attempt is the newest."""
        return [
            self._runs.put_claim(state, claim, token, now),
            Check(keys.run(self._tenant, state.run.id), running(state.attempt)),
        ]

    def append_input(
        self, before: Head, state: RunState, condition: Condition, rows: Sequence[Message], now: datetime
    ) -> list[Change]:
        """Append the next page of a run's input to the log, with the marks of its messages. `state`: the run with the remaining
        input.
        """
        otids = dict.fromkeys(row.otid for row in rows if row.otid) if state.run.input_digest is not None else ()
        marks = [IdempotencyMark("otid", otid, OTID_LIFE, True) for otid in otids]
        return [
            self._conversations.change_head(before, grown(before, rows, owner=state.run.id), state.token),
            self._runs.take_input(state, len(rows), condition, max(_ms(now), state.lease) + OPEN_FOR_MS),
            *self._conversations.put_rows(before, rows),
            *(Put(self._mark(before.id, state, mark, now)) for mark in marks),  # compared when the request was accepted
        ]

    def step(
        self,
        before: Head,
        after: Head,
        state: RunState,
        writes: StepWrites,
        now: datetime,
        *,
        outside: RunState | None = None,
    ) -> list[Change]:
        """Commit a step that another step follows: its rows, record and events, and the progress of the run.

        `state`: the run after the step, with the number of the committing attempt. `outside`: the run as somebody else than its
        worker read it; the condition is that it has not changed since.
        """
        first_seq = state.next_seq
        state = replace(state, next_seq=first_seq + len(writes.events))
        first_write = Term(
            "wt", Op.NE, state.token
        )  # A step without rows and events would otherwise be counted at each repetition.
        return [
            self._conversations.change_head(before, grown(after, writes.rows, owner=state.run.id), state.token),
            self._runs.change(
                state, unchanged(outside) if outside else (*running(state.attempt), first_write), _ms(now) + OPEN_FOR_MS
            ),
            *self._conversations.put_rows(before, writes.rows),
            *([self._put_step(writes.step)] if writes.step else []),
            *([self._runs.put_events(state.run.id, first_seq, writes.events, now)] if writes.events else []),
            *self._budgets.spent(state.run.budgets, state.run.id, writes.spent, now),
            *self._events.put(writes.facts, state.run.event_types, state.token, now),
        ]

    def last_step(
        self,
        before: Head,
        after: Head,
        ending: RunEnding,
        writes: StepWrites,
        now: datetime,
    ) -> list[Change]:
        """Commit the last step of a run, append the closing events, and release the conversation or hand it over.

        Condition of a run that is ended from outside: the run has not changed since it was read.
        """
        state, succession = ending.state, ending.succession
        first_seq = state.next_seq
        log = [*writes.events, *closing_events(state.run)]
        state = replace(state, next_seq=first_seq + len(log), last_seq=first_seq + len(log) - 1, lease=0, journal="")
        rows = [*writes.rows, *succession.rows]
        last = grown(after, rows, owner=succession.run.run.id if succession.run else None)
        if succession.run and succession.fresh is None:
            last = last.model_copy(update={"waiting": before.waiting - 1})
        if ending.asks:
            last = last.model_copy(update={"pending": ending.asks.run_id})
        condition = unchanged(ending.outside) if ending.outside else running(state.attempt)
        # No run leaves the queue here, so it may grow meanwhile: the answer to the approval, or the fresh run, hands over later.
        interrupting = succession.run.run.budgets if succession.run and succession.fresh is not None else None
        queue_terms = (Term("waiting", Op.EQ, before.waiting),) if ending.asks is None and succession.fresh is None else ()
        return [
            self._conversations.change_head(before, last, state.token, *queue_terms),
            self._runs.change(state, condition, _report_due_ms(state.run, now)),
            *([self._approvals.create(ending.asks)] if ending.asks else []),
            self._runs.end_row(state.run),
            *self._conversations.put_rows(before, rows),
            *([self._put_step(writes.step)] if writes.step else []),
            self._runs.put_events(state.run.id, first_seq, log, now),
            *self._budgets.spent(state.run.budgets, state.run.id, writes.spent, now),
            *self._budgets.exchanged(state.run.budgets, interrupting),
            self._agents.run_ended(
                state.run.agent_id, now, (state.run.total_duration_ns or 0) // 1_000_000, state.run.stop_reason
            ),
            *run_ended(self._tenant, state.run, now, followed=succession.fresh is not None),
            *self._end_events(ending, writes.facts, now),
            *self._succeed(before, succession, state.token, now),
        ]

    def cancel_queued(self, before: Head, ending: RunEnding, now: datetime) -> list[Change]:
        """End a run of the queue. Its input stays on the run; the log does not change."""
        state = ending.state
        log = closing_events(state.run)
        state = replace(state, next_seq=1 + len(log), last_seq=len(log))
        key = keys.head(self._tenant, before.id)
        return [
            Update(key, set={"wt": state.token}, add={"waiting": -1}, when=(Term("waiting", Op.EQ, before.waiting),)),
            self._runs.change(state, (Term("status", Op.EQ, RunStatus.CREATED.value),), _report_due_ms(state.run, now)),
            self._runs.end_row(state.run),
            Delete(keys.queued(self._tenant, before.id, state.run.id), PRESENT),
            self._runs.put_events(state.run.id, 1, log, now),
            *self._budgets.released(state.run.budgets),
            *self._end_events(ending, (), now),
        ]

    def end_alone(self, ending: RunEnding, now: datetime) -> list[Change]:
        """End a run whose conversation is deleted: write its closing events and no rows."""
        state, log = ending.state, closing_events(ending.state.run)
        state = replace(state, next_seq=state.next_seq + len(log), last_seq=state.next_seq + len(log) - 1, lease=0, journal="")
        condition = unchanged(ending.outside) if ending.outside else running(state.attempt)
        return [
            self._runs.change(state, condition, _report_due_ms(state.run, now)),
            self._runs.end_row(state.run),
            self._runs.put_events(state.run.id, ending.state.next_seq, log, now),
            *self._budgets.released(state.run.budgets),
            *self._end_events(ending, (), now),
        ]

    def mend(self, mended: RepairPlan, token: str, now: datetime) -> list[Change]:
        """Repair a conversation: append missing rows, set the owner, and remove queue entries without a run."""
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
            puts = self._runs.create(state, _ms(now) + OPEN_FOR_MS)
            return [*puts, *self._marks(before.id, state, succession.fresh, now)]
        return [
            Delete(keys.queued(self._tenant, before.id, state.run.id), PRESENT),
            self._runs.change(state, (Term("status", Op.EQ, RunStatus.CREATED.value),), _ms(now) + OPEN_FOR_MS),
            self._runs.end_row(state.run),
        ]

    def _end_events(self, ending: RunEnding, facts: Sequence[Fact], now: datetime) -> list[Change]:
        """The change that stores the events of a run's end, and the facts of its last step."""
        run = ending.state.run
        requested = [approval_requested(ending.asks)] if ending.asks else []
        return self._events.put([*facts, *requested, run_finished(run, now)], run.event_types, ending.state.token, now)

    def _put_step(self, step: StoredStep) -> Put:
        key = keys.step(self._tenant, step.run_id or "", step.id)
        return Put(self._codec.item(key, bare(step), **keys.listed(self._tenant, "STEPS", step.id)), ABSENT)


def closing_events(run: StoredRun) -> list[RunEvent]:
    """The last events of every run's event log (Letta V1 API, API 6.1 and 6.2)."""
    stop: list[RunEvent] = [StopEvent(stop_reason=run.stop_reason or StopReason.ERROR)]
    if run.error:
        return [*stop, ErrorEvent(error_type=run.error.code, message=run.error.message, detail=run.error.detail), DoneEvent()]
    return [*stop, UsageEvent(usage=statistics(run)), DoneEvent()]


def statistics(run: StoredRun) -> LettaUsageStatistics:
    """The usage of a run in API shape. An unreported figure is 0, or null where the run streams tokens (API 4.7). `run_ids`:
    the runs of sleep-time agents.
    """
    totals = shown_usage(run)
    usage = totals.usage.model_dump()
    if not run.options.stream_tokens:
        usage = {name: figure or 0 if name.endswith("_tokens") else figure for name, figure in usage.items()}
    on_aws = {} if run.aws is None else {"aws_cost": cost_of(run.aws), "aws_price_list_date": PRICES_DATE}
    run_ids = run.sleeptime_run_ids or None
    return LettaUsageStatistics(**usage, **on_aws, step_count=totals.steps, context_tokens=run.context_tokens, run_ids=run_ids)


def _report_due_ms(run: StoredRun, now: datetime) -> int | None:
    """The due time at which the sweep reports the end of a run; None if no other party waits for it: no callback URL, no run that
    called it, and no run that is to be cancelled with it.
    """
    return _ms(now) + OPEN_FOR_MS if run.callback_url or awaited_by(run) or run.cancelled_step is not None else None


def grown(head: Head, rows: Sequence[Message], *, owner: str | None) -> Head:
    """The head after a transaction that appends `rows` and sets the owner. The version grows only where one of the two
    changes.
    """
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
    """Whether a log that ends with this row may have open calls. After an approval's answer it may, until the returns follow."""
    return bool(newest.tool_calls) or newest.role == "approval"


def _ms(now: datetime) -> int:
    return int(now.timestamp() * 1000)
