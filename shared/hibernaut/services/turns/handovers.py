"""Who owns a conversation next, and how a run's input enters the log.

A transaction that ends a run also makes the next run the owner, with the first page of its input as rows of the log. The
remaining input of a long request follows in transactions of its own, before the run's first model call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from hibernaut.ports.storage.table import Condition, ConditionFailed
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.errors import Conflict
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.schemas.stop import RunStatus
from hibernaut.services.host import Host
from hibernaut.services.steps.step_lease import LeaseLost
from hibernaut.store.runs.runs import RunState
from hibernaut.store.runs.transaction_values import INPUT_PAGE, Handover, IdempotencyMark
from hibernaut.store.stores import TenantStores

MAX_READS = 20
"""How often a queue is read before the handover fails because the queue and the count in the head disagree."""


@immutable
class InterruptingRun:
    """A run that takes a conversation from its owner. One transaction creates the run, with its input and the idempotency marks
    of its request, and makes it the owner.
    """

    state: RunState
    marks: Sequence[IdempotencyMark] = ()


class Handovers:
    """Chooses the next owner of a conversation, and appends input to its log."""

    def __init__(self, stores: TenantStores, host: Host) -> None:
        self._conversations = stores.conversations
        self._transactions = stores.transactions
        self._runs = stores.runs
        self._writer = stores.writer
        self._clock = host.clock
        self._ids = host.ids

    def next_owner(
        self, before: Head, rows: Sequence[Message], now: datetime, interrupting: InterruptingRun | None = None
    ) -> Handover:
        """The handover to the interrupting run, or else to the first run in the queue. Its messages get ids that sort after
        `rows`, the last rows of the log.

        Raises: Conflict if the head counts waiting runs that do not become visible: no run may be left behind in the queue.
        """
        last = rows[-1].id if rows else before.last_message
        if interrupting is not None:
            return replace(self.to(interrupting.state, last, now), fresh=interrupting.marks)
        for _ in range(MAX_READS if before.waiting else 0):
            for run_id in self._conversations.queue(before.id):
                state = self._runs.get(run_id)
                if state is not None and state.run.status is RunStatus.CREATED:
                    return self.to(state, last, now)
            head = self._conversations.head(before.id)
            if head is None or head.waiting != before.waiting:
                return Handover()  # The transaction's condition fails, and everything is read again.
        if before.waiting:
            raise Conflict(f"CONFLICT: The queue of conversation {before.id} does not settle; try again.")
        return Handover()

    def to(self, state: RunState, last_message: str | None, now: datetime) -> Handover:
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

    def append_input(self, state: RunState, condition: Callable[[RunState], Condition]) -> RunState:
        """Append the remaining input of a running run to the log, one page in each transaction. `condition` builds the condition
        on the run as it was last read or written. Raises: LeaseLost if the run has ended, or another attempt or run has taken
        over.
        """
        token, pages = state.token, 0
        while state.run.input:
            head, now = self._conversations.head(state.run.conversation_id or state.run.agent_id), self._clock.now()
            if head is None or head.owner != state.run.id:
                raise LeaseLost
            rows, run = self.input_rows(state.run, head.last_message, now), state.run.model_copy()
            run.input = run.input[INPUT_PAGE:]
            run.first_message, run.last_message = run.first_message or rows[0].id, rows[-1].id
            appended = replace(state, run=run, taken=state.taken + len(rows), token=f"{token}.input{pages}")
            changes = self._transactions.append_input(head, appended, condition(state), rows, now)
            try:
                self._writer.write(*changes, token=appended.token)
            except ConditionFailed as failure:
                raise LeaseLost from failure
            state, pages = appended, pages + 1
        return replace(state, taken=0, token=token)
