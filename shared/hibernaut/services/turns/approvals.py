"""Answering what an agent asked to be allowed: one transaction consumes the pending record and makes the run that goes on.

The first answer wins; the same answer again attaches to its run. A deadline that passes is an answer too (architecture 4, approvals).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from hibernaut.domain.turn import approvals as decisions
from hibernaut.ports.table import ConditionFailed
from hibernaut.ports.workflow import RunRef
from hibernaut.schemas.approval import How, PendingApproval, Resolution
from hibernaut.schemas.conversation import Head
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.run import StoredRun
from hibernaut.schemas.send import ApprovalCreate, ToolReturnCreate
from hibernaut.schemas.stop import RunStatus
from hibernaut.services.host import Host
from hibernaut.store.runs import RunState
from hibernaut.store.stores import TenantStores
from hibernaut.store.transactions import ApprovalConsumption, IdempotencyMark

NOTHING_PENDING = (
    "Cannot process approval response: No tool call is currently awaiting approval. "
    "Please send a regular message to interact with the agent."
)
EARLY = timedelta(seconds=60)
"""How much earlier than our clock another's may see a deadline pass."""
logger = logging.getLogger(__name__)

Answer = ApprovalCreate | ToolReturnCreate


@dataclass(frozen=True, slots=True)
class AnswerResult:
    """The run that an answer made: just now, or `attached` where the same answer had come before."""

    run_id: str
    attached: bool = False


class ApprovalAnswers:
    """Answers, denies and withdraws pending approvals."""

    def __init__(self, stores: TenantStores, host: Host) -> None:
        self._tenant = stores.tenant
        self._approvals = stores.approvals
        self._conversations = stores.conversations
        self._runs = stores.runs
        self._transactions = stores.transactions
        self._writer = stores.writer
        self._host = host

    def answer(self, head: Head, given: Answer, run: StoredRun, marks: Sequence[IdempotencyMark]) -> AnswerResult | None:
        """The answer of a caller; further messages wait on `run` as its input. None: the same answer was taken by a run that was
        cancelled since, so that nothing is left to be answered and the caller wants the agent to go on.

        Raises: InvalidArgument where it fits nothing that is pending, ConditionFailed where something moved meanwhile.
        """
        record = self.pending(head)
        if record is None and head.pending:
            raise ConditionFailed({})  # answered since the head was read: by the same answer, perhaps
        further = [message.text() for message in run.input]
        earlier = self._earlier(head, given, further)
        if record is None:
            if earlier is None:
                raise InvalidArgument(NOTHING_PENDING)
            return None if self._cancelled(earlier.run_id) else earlier
        try:
            resolution = decisions.answered(record, given)
        except InvalidArgument:
            if earlier is None or self._cancelled(earlier.run_id):
                raise
            return earlier
        message_id = self._host.ids.new("message", after=head.last_message)
        row = decisions.answer_row(record, given, run, message_id, self._host.clock.now())
        taken = _taken(record, run.id, "answered", decisions.fingerprint(resolution, further))
        self._consume(head, ApprovalConsumption(taken, [row]), resolution, run, marks)
        return AnswerResult(run.id)

    def deny(self, head: Head, run: StoredRun, marks: Sequence[IdempotencyMark], *, how: How, reason: str) -> None:
        """Every call that waits is denied, and `run` goes on with what it brings. Raises: ConditionFailed where something moved."""
        record = self.pending(head)
        if record is None:
            raise ConditionFailed({})
        message_id = self._host.ids.new("message", after=head.last_message)
        row = decisions.answer_row(record, decisions.refusals(record, reason), run, message_id, self._host.clock.now())
        resolution = decisions.denied(record, reason)
        self._consume(head, ApprovalConsumption(_taken(record, run.id, how), [row]), resolution, run, marks)

    def deny_overdue(self, run_id: str, *, early: timedelta = EARLY) -> str | None:
        """The deadline of what this run asked for has passed: a run of its own tells the model. Its id, or None where there is nothing
        to deny (any more, or yet). `early`: how much before our clock the caller's may have said so."""
        state = self._approvals.get(run_id)
        now = self._host.clock.now()
        if state is None or state.record.consumed_by or state.record.deadline is None or state.record.deadline > now + early:
            return None
        record, asking = state.record, self._runs.get(run_id)
        head = self._conversations.head(record.conversation_id or record.agent_id)
        if asking is None or head is None or head.pending != run_id:
            self._forget(record)
            return None
        run = StoredRun(
            id=self._host.ids.new("run"),
            agent_id=record.agent_id,
            conversation_id=record.conversation_id,
            created_at=now,
            background=True,
            metadata={"run_type": "approval_deadline"},
            request_config=asking.run.request_config,
            options=asking.run.options.model_copy(update={"stream_tokens": False}),
        )
        try:
            self.deny(head, run, (), how="deadline", reason=decisions.OVERDUE)
        except ConditionFailed:
            return None
        logger.info("approval denied by its deadline", extra={"run_id": run_id, "denied_by": run.id})
        self._host.workflow.start(RunRef(self._tenant, run.id))
        return run.id

    def _forget(self, record: PendingApproval) -> None:
        """A record that its conversation knows nothing of leaves the index of what is due."""
        token = self._host.ids.token()
        with suppress(ConditionFailed):
            self._writer.write(self._approvals.consume(_taken(record, record.run_id, "cancelled"), token), token=token)

    def wait(self, run_id: str, task_token: str) -> None:
        """Keep the name of the workflow's wait for as long as the approval is open; else end the wait."""
        try:
            change = self._approvals.keep_token(run_id, task_token)
            self._writer.write(change, token=task_token[-36:])
        except ConditionFailed:
            self._host.workflow.end_wait(RunRef(self._tenant, run_id), task_token)

    def end_wait(self, run_id: str) -> None:
        """End the workflow's wait for what was consumed: the token is read after the transaction, so none is overlooked."""
        state = self._approvals.get(run_id)
        if state is not None and state.task_token:
            self._host.workflow.end_wait(RunRef(self._tenant, run_id), state.task_token)

    def pending(self, head: Head) -> PendingApproval | None:
        """What the conversation waits for."""
        state = self._approvals.get(head.pending) if head.pending else None
        return state.record if state is not None and state.record.consumed_by is None else None

    def _earlier(self, head: Head, given: Answer, further: Sequence[str]) -> AnswerResult | None:
        """The run of the same answer, given to what was asked last."""
        state = self._approvals.get(head.answered) if head.answered else None
        if state is None or not state.record.answer or state.record.consumed_by is None:
            return None
        try:
            resolution = decisions.answered(state.record, given)
        except InvalidArgument:
            return None
        same = decisions.fingerprint(resolution, further) == state.record.answer
        return AnswerResult(state.record.consumed_by, attached=True) if same else None

    def _cancelled(self, run_id: str) -> bool:
        state = self._runs.get(run_id)
        return state is not None and state.run.status is RunStatus.CANCELLED

    def _consume(
        self,
        head: Head,
        consumed: ApprovalConsumption,
        resolution: Resolution,
        run: StoredRun,
        marks: Sequence[IdempotencyMark],
    ) -> None:
        """One transaction: the record is consumed, the run owns the conversation, and the calls wait on it to be resolved."""
        run.status, run.resolve = RunStatus.RUNNING, resolution
        run.first_message, run.last_message = consumed.rows[0].id, consumed.rows[-1].id
        state = RunState(run, token=self._host.ids.token())
        now = self._host.clock.now()
        changes = self._transactions.answer(head, consumed, state, marks, now)
        self._writer.write(*changes, token=state.token)
        logger.info(
            "approval answered", extra={"run_id": consumed.record.run_id, "answered_by": run.id, "how": consumed.record.how}
        )
        self.end_wait(consumed.record.run_id)


def _taken(record: PendingApproval, run_id: str, how: How, answer: str = "") -> PendingApproval:
    return record.model_copy(update={"consumed_by": run_id, "how": how, "answer": answer})
