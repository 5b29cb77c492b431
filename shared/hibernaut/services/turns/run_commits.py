"""Commits steps and ends of runs: one transaction each, retried until it succeeds or the worker has lost the right to write.

A failed condition means that an item changed since it was read. If the queue has grown or event numbers are in use, the
transaction is rebuilt on the current state and written again. If a block or the agent has changed, the caller must run the tools
again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from hibernaut.ports.table import Change, Condition, ConditionFailed, TableError
from hibernaut.ports.workflow import RunRef
from hibernaut.schemas.approval import PendingApproval
from hibernaut.schemas.conversation import Head
from hibernaut.schemas.errors import Conflict, HibernautError
from hibernaut.schemas.message import Message
from hibernaut.schemas.run import StoredRun
from hibernaut.schemas.stop import RunStatus
from hibernaut.services.host import Host
from hibernaut.services.logs.callbacks import Callbacks
from hibernaut.services.steps.step_lease import LeaseLost
from hibernaut.store.runs import RunState
from hibernaut.store.stores import TenantStores
from hibernaut.store.transactions import INPUT_PAGE, Handover, IdempotencyMark, RunEnding, StepWrites

MAX_READS = 20
"""How often a queue is read before the commit fails because the queue and the count in the head disagree."""
TRIES = 100
"""How often one transaction is built before the commit fails with `Conflict`."""


class MemoryConflict(Exception):
    """A block or the agent has changed since it was read. Nothing was written."""


@dataclass(frozen=True, slots=True)
class InterruptingRun:
    """A run that takes a conversation from its owner. One transaction creates the run, with its input and the idempotency marks
    of its request, and makes it the owner.
    """

    state: RunState
    marks: Sequence[IdempotencyMark] = ()


@dataclass(frozen=True, slots=True)
class UnitOfWork:
    """Everything that one transaction of a run writes: a step of the run, or its end. `state` is the run after the transaction.

    `before` and `after` are the head as it was read and as it is written. `edits` are the changes beside the log (memory,
    passages, the system message), each with its own condition. The other fields concern the end of a run: `outside` is the run as
    it was read by a caller that ends it from outside, `asks` is the approval that the run ends with, and `newcomer` is the run
    that takes the conversation instead of the first run in the queue.
    """

    before: Head
    after: Head
    state: RunState
    written: StepWrites
    edits: Sequence[Change] = ()
    outside: RunState | None = None
    asks: PendingApproval | None = None
    newcomer: InterruptingRun | None = None


class RunCommits:
    """Writes the transactions of steps and of ends of runs."""

    def __init__(
        self,
        stores: TenantStores,
        host: Host,
    ) -> None:
        self._tenant = stores.tenant
        self._transactions = stores.transactions
        self._conversations = stores.conversations
        self._runs = stores.runs
        self._writer = stores.writer
        self._workflow = host.workflow
        self._signal = host.signal
        self._clock = host.clock
        self._ids = host.ids
        self._callbacks = Callbacks(stores, host)

    def step(self, unit: UnitOfWork) -> None:
        """Commit a step that is not the run's last.

        Raises: LeaseLost if the run has ended or another attempt holds the step; MemoryConflict; Conflict after `TRIES` attempts.
        """

        def build(unit: UnitOfWork) -> list[Change]:
            now = self._clock.now()
            return self._transactions.step(unit.before, unit.after, unit.state, unit.written, now)

        self._write(unit, build)
        self._conversations.appended(unit.before, unit.after, unit.written.rows, unit.written.system)
        self._signal.notify(unit.state.run.id)

    def last_step(self, unit: UnitOfWork) -> None:
        """Commit the end of a run and hand the conversation to the next run: the newcomer, else the first run in the queue. A run
        that ends with an approval request hands it to none. The workflow of a run from the queue is started; that of a newcomer
        is not.

        Raises: LeaseLost, MemoryConflict, Conflict; ConditionFailed if a condition fails although nothing has changed, as for a
        newcomer that exists already.
        """
        chosen = [Handover()]

        def build(unit: UnitOfWork) -> list[Change]:
            now = self._clock.now()
            if unit.asks is None:
                chosen[0] = self.succession(unit.before, unit.written.rows, now, unit.newcomer)
            ending = RunEnding(unit.state, chosen[0], unit.outside, unit.asks)
            return self._transactions.last_step(unit.before, unit.after, ending, unit.written, now)

        self._write(unit, build)
        rows = [*unit.written.rows, *chosen[0].rows]
        self._conversations.appended(unit.before, unit.after, rows, unit.written.system)
        self._signal.notify(unit.state.run.id)
        if chosen[0].run and unit.newcomer is None:
            self._workflow.start(RunRef(self._tenant, chosen[0].run.run.id))
        self.call_back(unit.state.run)

    def append_input(self, state: RunState, when: Callable[[RunState], Condition]) -> RunState:
        """Append the remaining input of a running run to the log, one page in each transaction. `when` builds the condition on
        the run as it was last read or written. Raises: LeaseLost if the run has ended, or another attempt or run has taken over.
        """
        token, pages = state.token, 0
        while state.run.input:
            head, now = self._conversations.head(state.run.conversation_id or state.run.agent_id), self._clock.now()
            if head is None or head.owner != state.run.id:
                raise LeaseLost
            rows, run = self.input_rows(state.run, head.last_message, now), state.run.model_copy()
            run.input = run.input[INPUT_PAGE:]
            run.first_message, run.last_message = run.first_message or rows[0].id, rows[-1].id
            written = replace(state, run=run, token=f"{token}.input{pages}")
            changes = self._transactions.append_input(head, written, when(state), rows, now)
            try:
                self._writer.write(*changes, token=written.token)
            except ConditionFailed as failure:
                raise LeaseLost from failure
            state, pages = written, pages + 1
        return replace(state, token=token)

    def call_back(self, run: StoredRun) -> None:
        """Call the run's `callback_url`, if it has one. If the call fails here, the sweep makes it."""
        if run.callback_url:
            with suppress(HibernautError, TableError):
                self._callbacks.send(run.id)

    def _write(self, unit: UnitOfWork, build: Callable[[UnitOfWork], list[Change]]) -> None:
        """Write the changes that `build` returns for the unit. After a failed condition, rebuild them on the current state."""
        for _ in range(TRIES):
            changes = build(unit)
            try:
                return self._writer.write(*changes, *unit.edits, token=unit.state.token)
            except ConditionFailed as failure:
                if any(place >= len(changes) for place in failure.failed):
                    raise MemoryConflict from failure
                seen = failure
            again = self._again(unit)
            if again is None:
                return None
            if again == unit:
                raise seen
            unit = again
        raise Conflict(f"The end of run {unit.state.run.id} cannot be written: the conversation is too busy.")

    def _again(self, unit: UnitOfWork) -> UnitOfWork | None:
        """The unit with the current queue and event numbers. None if the transaction was written and only its response was lost.

        Raises: LeaseLost if this worker may not write to the run any more.
        """
        before, state, outside = unit.before, unit.state, unit.outside
        run, head = self._runs.get(state.run.id), self._conversations.head(before.id)
        if run is not None and run.token == state.token:
            return None
        if run is None or head is None or run.ended or head.owner != before.owner or head.version != before.version:
            raise LeaseLost
        if outside is None and run.attempt != state.attempt:
            raise LeaseLost
        if outside is not None and run.token != outside.token:
            raise LeaseLost
        events = self._runs.events(state.run.id, state.next_seq - 1, self._clock.now())
        moved = {"waiting": head.waiting}
        return replace(
            unit,
            before=before.model_copy(update=moved),
            after=unit.after.model_copy(update=moved),
            state=replace(state, next_seq=events[-1][0] + 1 if events else state.next_seq),
        )

    def succession(
        self, before: Head, rows: Sequence[Message], now: datetime, newcomer: InterruptingRun | None = None
    ) -> Handover:
        """The handover to the newcomer, or else to the first run in the queue. Its messages get ids that sort after the log's
        last row.

        Raises: Conflict if the head counts waiting runs that do not become visible: no run may be left behind in the queue.
        """
        last = rows[-1].id if rows else before.last_message
        if newcomer is not None:
            return replace(self.owning(newcomer.state, last, now), fresh=newcomer.marks)
        for _ in range(MAX_READS if before.waiting else 0):
            for run_id in self._conversations.queue(before.id):
                state = self._runs.get(run_id)
                if state is not None and state.run.status is RunStatus.CREATED:
                    return self.owning(state, last, now)
            head = self._conversations.head(before.id)
            if head is None or head.waiting != before.waiting:
                return Handover()  # The transaction's condition fails, and everything is read again.
        if before.waiting:
            raise Conflict(f"The queue of conversation {before.id} does not settle; try again.")
        return Handover()

    def owning(self, state: RunState, last_message: str | None, now: datetime) -> Handover:
        """The handover that makes this run the owner of its conversation, with the first page of its input as rows."""
        run, rows = state.run.model_copy(deep=True), self.input_rows(state.run, last_message, now)
        run.status = RunStatus.RUNNING
        run.input = run.input[INPUT_PAGE:]
        run.first_message, run.last_message = (rows[0].id, rows[-1].id) if rows else (None, None)
        return Handover(replace(state, run=run), rows)

    def input_rows(self, run: StoredRun, last_message: str | None, now: datetime) -> list[Message]:
        """The first page of a run's input, with ids that sort after `last_message`."""
        rows = []
        for message in run.input[:INPUT_PAGE]:
            last_message = self._ids.new("message", after=last_message)
            rows.append(message.model_copy(update={"id": last_message, "created_at": now}))
        return rows
