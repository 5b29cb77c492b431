"""Answers to approval requests: one transaction consumes the pending approval and creates the run that continues.

The first answer wins. The same answer sent again attaches to the run of the first. A deadline that passes counts as a denial.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from hibernaut.domain.turn import approvals as decisions
from hibernaut.ports.runs.workflow import RunRef
from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.errors import InvalidArgument, StoreUnavailable
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.runs.approval import How, PendingApproval, Resolution
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.schemas.runs.send import ApprovalCreate, ToolReturnCreate
from hibernaut.schemas.stop import RunStatus
from hibernaut.services.host import Host
from hibernaut.store.runs.runs import RunState
from hibernaut.store.runs.transaction_values import ApprovalConsumption, IdempotencyMark
from hibernaut.store.stores import TenantStores

NOTHING_PENDING = (
    "Cannot process approval response: No tool call is currently awaiting approval. "
    "Please send a regular message to interact with the agent."
)
EARLY = timedelta(seconds=60)
"""The clock skew that is tolerated: a caller's clock may run this far ahead of this host's when it reports a passed deadline."""
logger = logging.getLogger(__name__)

Answer = ApprovalCreate | ToolReturnCreate


@immutable
class AnswerResult:
    """The run that an answer created. `attached`: the same answer arrived earlier, and the run is that of the earlier one."""

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

    def answer(self, head: Head, answer: Answer, run: StoredRun, marks: Sequence[IdempotencyMark]) -> AnswerResult | None:
        """Consume the pending approval with the caller's answer. `run` is the run that continues; its input holds the further
        messages of the request. Returns None if an earlier run consumed the same answer and was cancelled afterwards: nothing is
        pending any more, and the caller should start a run.

        Raises: InvalidArgument if the answer matches no pending approval; ConditionFailed if the conversation or the approval
        changed since `head` was read.
        """
        record = self.pending(head)
        if record is None and head.pending:
            raise ConditionFailed({})  # The approval was consumed after the head was read, possibly by the same answer.
        further = [message.text() for message in run.input]
        earlier = self._earlier(head, answer, further)
        if record is None:
            if earlier is None:
                raise InvalidArgument(NOTHING_PENDING)
            return None if self._cancelled(earlier.run_id) else earlier
        try:
            resolution = decisions.resolution_of(record, answer)
        except InvalidArgument:
            if earlier is None or self._cancelled(earlier.run_id):
                raise
            return earlier
        message_id = self._host.ids.new("message", after=head.last_message)
        row = decisions.answer_row(record, answer, run, message_id, self._host.clock.now())
        taken = _consumed(record, run.id, "answered", decisions.fingerprint(resolution, further))
        self._consume(head, ApprovalConsumption(taken, [row]), resolution, run, marks)
        return AnswerResult(run.id)

    def deny(self, head: Head, run: StoredRun, marks: Sequence[IdempotencyMark], *, how: How, reason: str) -> None:
        """Deny every pending call with this reason; `run` continues with its own input.

        Raises: ConditionFailed if nothing is pending, or if the conversation changed since `head` was read.
        """
        record = self.pending(head)
        if record is None:
            raise ConditionFailed({})
        message_id = self._host.ids.new("message", after=head.last_message)
        row = decisions.answer_row(record, decisions.refusals(record, reason), run, message_id, self._host.clock.now())
        resolution = decisions.denied(record, reason)
        self._consume(head, ApprovalConsumption(_consumed(record, run.id, how), [row]), resolution, run, marks)

    def deny_overdue(self, run_id: str, *, early: timedelta = EARLY) -> str | None:
        """Deny the approval that this run requested if its deadline has passed. A new background run reports the denial to the
        model.

        Returns the id of the new run; None if the approval is already consumed, has no deadline, or is not due yet. `early`: the
        clock skew that is tolerated.
        """
        state = self._approvals.get(run_id)
        now = self._host.clock.now()
        if state is None or state.record.consumed_by or state.record.deadline is None or state.record.deadline > now + early:
            return None
        record, requesting = state.record, self._runs.get(run_id)
        head = self._conversations.head(record.conversation_id or record.agent_id)
        if requesting is None or head is None or head.pending != run_id:
            self._forget(record)
            return None
        run = StoredRun(
            id=self._host.ids.new("run"),
            agent_id=record.agent_id,
            conversation_id=record.conversation_id,
            created_at=now,
            background=True,
            metadata={"run_type": "approval_deadline"},
            request_config=requesting.run.request_config,
            options=requesting.run.options.model_copy(update={"stream_tokens": False}),
            key_id=requesting.run.key_id,
            budgets=requesting.run.budgets.model_copy(update={"slots": []}) if requesting.run.budgets else None,
            event_types=requesting.run.event_types,
        )
        try:
            self.deny(head, run, (), how="deadline", reason=decisions.OVERDUE)
        except ConditionFailed:
            return None
        logger.info("approval denied by its deadline", extra={"run_id": run_id, "denied_by": run.id})
        self._host.workflow.start(RunRef(self._tenant, run.id))
        return run.id

    def _forget(self, record: PendingApproval) -> None:
        """Consume a record that its conversation does not refer to, so that it leaves the index of due items."""
        token = self._host.ids.token()
        with suppress(ConditionFailed):
            self._writer.write(self._approvals.consume(_consumed(record, record.run_id, "cancelled"), token), token=token)

    def wait(self, run_id: str, task_token: str) -> None:
        """Store the task token of the workflow's wait with the pending approval. If the approval is consumed already, end the
        wait.
        """
        try:
            change = self._approvals.keep_token(run_id, task_token)
            self._writer.write(change, token=task_token[-36:])
        except ConditionFailed:
            self._host.workflow.end_wait(RunRef(self._tenant, run_id), task_token)

    def end_wait(self, run_id: str) -> None:
        """End the workflow's wait for a consumed approval. The task token is read after the transaction, so that none is
        missed.
        """
        state = self._approvals.get(run_id)
        if state is not None and state.task_token:
            self._host.workflow.end_wait(RunRef(self._tenant, run_id), state.task_token)

    def pending(self, head: Head) -> PendingApproval | None:
        """The pending approval of the conversation; None if there is none."""
        state = self._approvals.get(head.pending) if head.pending else None
        return state.record if state is not None and state.record.consumed_by is None else None

    def _earlier(self, head: Head, answer: Answer, further: Sequence[str]) -> AnswerResult | None:
        """The run that the same answer created, if it was the answer to the conversation's most recent approval."""
        state = self._approvals.get(head.answered) if head.answered else None
        if state is None or not state.record.answer or state.record.consumed_by is None:
            return None
        try:
            resolution = decisions.resolution_of(state.record, answer)
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
        """In one transaction, consume the record, make `run` the owner of the conversation, and store the calls to resolve on
        it.
        """
        run.status, run.resolve = RunStatus.RUNNING, resolution
        run.first_message, run.last_message = consumed.rows[0].id, consumed.rows[-1].id
        state = RunState(run, token=self._host.ids.token())
        now = self._host.clock.now()
        changes = self._transactions.answer(head, consumed, state, marks, now)
        self._writer.write(*changes, token=state.token)
        logger.info(
            "approval answered", extra={"run_id": consumed.record.run_id, "answered_by": run.id, "how": consumed.record.how}
        )
        with suppress(StoreUnavailable):  # The answer is accepted. A wait that is not ended here ends at its deadline.
            self.end_wait(consumed.record.run_id)


def _consumed(record: PendingApproval, run_id: str, how: How, answer: str = "") -> PendingApproval:
    return record.model_copy(update={"consumed_by": run_id, "how": how, "answer": answer})
