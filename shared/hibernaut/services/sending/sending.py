"""Sending messages to an agent: validate, accept (one transaction: the run and its input), start the workflow.

A request is reported as accepted only after its transaction (invariant 2). A re-sent request attaches to the run
of the first. If a run owns the conversation, or an approval is pending, the request or its route decides: the new run is queued,
is rejected, or interrupts (invariant 8).
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from datetime import datetime

from hibernaut.domain.turn import approvals as decisions
from hibernaut.domain.window.open_calls import INTERRUPTED, LAST_ROWS, Closing, closed, open_at_end
from hibernaut.ports.model import Models
from hibernaut.ports.runs.workflow import RunRef
from hibernaut.ports.storage.table import Change, ConditionFailed
from hibernaut.schemas.access.budget import RunBudgets
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import ApprovalPending, Busy, Conflict, NotFound
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.run import RunOptions, StoredRun
from hibernaut.schemas.runs.send import LettaRequest, MessageCreate, RequestConfig, WhenBusy
from hibernaut.schemas.stop import RunStatus
from hibernaut.services.budgets.budget_checks import BudgetChecks, subjects_of
from hibernaut.services.host import Host
from hibernaut.services.records import no_conversation
from hibernaut.services.sending.refusals import refuse_erased, refuse_paused
from hibernaut.services.sending.resent_requests import ResentRequests
from hibernaut.services.steps.aws_charges import AwsCharges
from hibernaut.services.turns.approvals import ApprovalAnswers
from hibernaut.services.turns.handovers import InterruptingRun
from hibernaut.services.turns.inputs import RequestInputs, inputs_of, row_of
from hibernaut.services.turns.run_termination import RunTermination
from hibernaut.store.runs.idempotency import KnownRequest, RequestIdentity
from hibernaut.store.runs.runs import RunState
from hibernaut.store.runs.transaction_values import INPUT_PAGE, IdempotencyMark
from hibernaut.store.runs.transactions import grown
from hibernaut.store.stores import TenantStores

TRIES = 50
MOST_WAITING = 100
"""The maximum number of runs in one conversation's queue."""
FurtherChanges = Callable[[StoredRun], Sequence[Change]]
logger = logging.getLogger(__name__)


class FurtherConditionFailed(ConditionFailed):
    """A condition of the further changes of a request does not hold; the request was not accepted."""


def no_further_changes(run: StoredRun) -> Sequence[Change]:
    """The further changes of a request that has none."""
    del run
    return ()


@immutable
class SendRequest:
    """One request to an agent, as a route passes it.

    `conversation_id` None: the agent's default conversation. `run_type` is shown in the run's metadata (Letta V1 API, digest
    5.1). `retry` is the client's count of re-sends and `digest` a hash of the body: together they identify a re-sent request.
    `when_busy` is the route's default, which the body may override. `key_id`: the caller's API key. `traceparent`: the caller's
    span, as the header of W3C Trace Context. `further_changes`: changes that the transaction which accepts the request makes as
    well, for a request that is never to interrupt.
    `links`: further metadata of the run, which names what led to it. `run_id`: the id that the run gets; None: a new one.
    `model_checked`: the caller has found the model of the body before.
    """

    agent_id: str
    body: LettaRequest
    run_type: str
    digest: str
    retry: int = 0
    background: bool = False
    callback_url: str | None = None
    conversation_id: str | None = None
    when_busy: WhenBusy = "queue"
    key_id: str | None = None
    traceparent: str | None = None
    further_changes: FurtherChanges = no_further_changes
    links: JsonObject = field(default_factory=dict)
    run_id: str | None = None
    model_checked: bool = False


@immutable
class AcceptedRequest:
    """The run of an accepted request. `attached`: an earlier request created the run. `waits`: the run is in the queue."""

    run_id: str
    attached: bool = False
    waits: bool = False


@immutable
class _Arrival:
    """A validated request before its transaction: its run with the messages as input, and its idempotency marks."""

    head: Head
    request: SendRequest
    inputs: RequestInputs
    run: StoredRun
    marks: Sequence[IdempotencyMark]
    at: datetime


class Sending:
    """Accepts requests to agents and starts their runs."""

    def __init__(
        self,
        stores: TenantStores,
        host: Host,
        models: Models,
        *,
        termination: RunTermination,
        approvals: ApprovalAnswers,
        budgets: BudgetChecks,
    ) -> None:
        self._stores = stores
        self._host = host
        self._models = models
        self._termination = termination
        self._approvals = approvals
        self._budgets = budgets
        self._charges = AwsCharges(host.meter)
        self._resent = ResentRequests(stores)

    def accept(self, request: SendRequest) -> AcceptedRequest:
        """Accept the request: commit its run with its input, or attach to the run that accepted it earlier.

        Raises: Unprocessable, InvalidArgument, NotFound; ApprovalPending or Busy if the conversation is not free or its queue is
        full; AgentPaused; ErasureRunning; BudgetExceeded; Conflict if the conversation keeps changing for `TRIES` attempts;
        FurtherConditionFailed.
        """
        inputs = inputs_of(request.body, self._host.clock.now())
        if request.body.override_model and not request.model_checked:
            self._models.config(request.body.override_model)
        subjects = subjects_of(request.agent_id, request.key_id)
        identity = RequestIdentity(request.digest, inputs.otids, inputs.first, request.retry)
        for attempt in range(TRIES):
            conversation = request.conversation_id or request.agent_id
            budgets, events = self._budgets.reading(subjects), self._stores.events.reading()
            pause = self._stores.pauses.reading(request.agent_id, (one.sender_id for one in inputs.messages))
            head, earlier = self._stores.idempotency.look(conversation, identity, budgets=budgets, events=events, pause=pause)
            if head is None and request.conversation_id is not None:
                raise no_conversation(request.conversation_id)
            if head is None:
                raise NotFound(f"Agent with ID {request.agent_id} not found")
            earlier = self._resent.with_waiting(head, inputs, earlier, identity)
            if earlier.run_id is not None and self._resent.is_new(inputs, earlier, request.retry):
                head, earlier = self._stores.idempotency.look(conversation, identity, replaced=earlier.run_id)
                if head is None:
                    continue
            if earlier.run_id is not None and self._attached(earlier):
                return AcceptedRequest(earlier.run_id, attached=True)
            if earlier.run_id is not None:
                continue
            refuse_paused(request.agent_id, pause.pause)
            refuse_erased(pause.erasure_id)
            # The owner that a message interrupts gives its slot to the new run; if it has none, the second attempt is refused.
            interrupts = attempt == 0 and head.owner is not None and request.body.when_busy == "interrupt"
            admitted = self._budgets.admit(budgets, replaces=interrupts)
            arrival = self._arrival(head, request, inputs, earlier.marks, admitted)
            arrival.run.event_types = events.types()
            further_failure: FurtherConditionFailed | None = None
            try:
                accepted = self._met(arrival)
            except ConditionFailed as failure:
                accepted, further_failure = None, failure if isinstance(failure, FurtherConditionFailed) else None
            if accepted := accepted or self._accepted_run(arrival):
                self._charges.accepted(arrival.run)
                self._wake(head)
                return accepted
            if further_failure is not None:
                raise further_failure
        raise Conflict("CONFLICT: The conversation is too busy to take the message; try again.")

    def _wake(self, head: Head) -> None:
        """Bring the window of a resting conversation back, now that its run will be certain."""
        if head.resting:
            from hibernaut.services.resting.resting import Resting  # few requests meet a resting agent

            Resting(self._stores, self._host.clock).wake(head)

    def _attached(self, earlier: KnownRequest) -> bool:
        """Whether the request may attach to its known run. False: an idempotency mark has changed, and the caller reads again."""
        token = self._host.ids.token()
        try:
            if earlier.arrived is not None:
                self._stores.writer.write(replace(earlier.arrived, set={**earlier.arrived.set, "wt": token}), token=token)
        except ConditionFailed:
            return False
        return True

    def _accepted_run(self, arrival: _Arrival) -> AcceptedRequest | None:
        """The run of a request whose transaction seems to have failed. The run exists if only the response was lost and other
        workers have advanced it since, so that no item has the writer's token any more.
        """
        state = self._stores.runs.get(arrival.run.id)
        return None if state is None else AcceptedRequest(state.run.id, waits=state.run.status is RunStatus.CREATED)

    def start(self, run_id: str, *, inline: bool = False) -> None:
        """Start the run's workflow. If the start is lost, the sweep starts it later."""
        self._host.workflow.start(RunRef(self._stores.tenant, run_id), inline=inline)

    def _arrival(
        self,
        head: Head,
        request: SendRequest,
        inputs: RequestInputs,
        marks: Sequence[IdempotencyMark],
        budgets: RunBudgets | None,
    ) -> _Arrival:
        now = self._host.clock.now()
        run = self._run(request, head, now)
        run.budgets = budgets
        run.input_digest = inputs.digest() if any(inputs.otids) else None
        last = head.last_message
        for one in inputs.messages:
            last = self._host.ids.new("message", after=last)
            run.input.append(row_of(one, last, run, now))
        self._charges.accept(run)
        decisions.check_client_tools(request.body.client_tools or ())
        return _Arrival(head, request, inputs, run, marks, now)

    def _met(self, arrival: _Arrival) -> AcceptedRequest | None:
        """Commit the request by the conversation's current state. None, or ConditionFailed: the conversation has changed
        meanwhile.

        Raises: InvalidArgument, ApprovalPending, Busy, ConditionFailed.
        """
        head, answer = arrival.head, arrival.inputs.answer
        when_busy = arrival.request.body.when_busy
        if answer is not None:
            result = self._approvals.answer(head, answer, arrival.run, arrival.marks)
            if result is not None:
                return AcceptedRequest(result.run_id, attached=result.attached)
            self._keep_alive(arrival)
        if head.pending:
            return self._while_pending(arrival, when_busy)
        if head.owner is None:
            return self._take_conversation(arrival)
        match when_busy or arrival.request.when_busy:
            case "queue":
                return self._queued(arrival)
            case "interrupt":
                interrupting = InterruptingRun(RunState(arrival.run, token=self._host.ids.token()), arrival.marks)
                return AcceptedRequest(arrival.run.id) if self._termination.interrupt(head, interrupting) else None
            case "reject":
                raise Busy(_BUSY.format(run_id=head.owner), head.owner)

    def _keep_alive(self, arrival: _Arrival) -> None:
        """Give the run a message if the request only repeats an earlier answer: every run begins with a message."""
        if not arrival.run.input:
            message_id = self._host.ids.new("message", after=arrival.head.last_message)
            alert = MessageCreate(role="user", content=decisions.KEEP_ALIVE)
            arrival.run.input.append(row_of(alert, message_id, arrival.run, arrival.at))

    def _while_pending(self, arrival: _Arrival, when_busy: WhenBusy | None) -> AcceptedRequest:
        """An approval is pending: reject the message, unless the request chooses to queue or to interrupt (API 5.4).

        Raises: ApprovalPending, Busy, ConditionFailed.
        """
        head = arrival.head
        if when_busy == "queue":
            return self._queued(arrival)
        if when_busy == "interrupt":
            reason = decisions.INTERRUPTED
            self._approvals.deny(head, arrival.run, arrival.marks, how="interrupted", reason=reason)
            return AcceptedRequest(arrival.run.id)
        record = self._approvals.pending(head)
        raise ApprovalPending(_PENDING, record.request_id if record else "", record.run_id if record else head.pending)

    def _take_conversation(self, arrival: _Arrival) -> AcceptedRequest:
        """Make the run the owner of a free conversation, and append its messages to the log. Raises: ConditionFailed."""
        run, now = arrival.run, arrival.at
        mended = self._mended(arrival)
        rows, run.input = [*mended, *run.input[:INPUT_PAGE]], run.input[INPUT_PAGE:]
        last = arrival.head.last_message
        for row in rows:
            row.id = last = self._host.ids.new("message", after=last) if mended else row.id
        run.status = RunStatus.RUNNING
        run.first_message, run.last_message = rows[len(mended)].id, rows[-1].id
        state = RunState(run, token=self._host.ids.token())
        self._write(arrival, state, self._stores.transactions.accept(arrival.head, state, rows, arrival.marks, now))
        after = grown(arrival.head, rows, owner=run.id)
        self._stores.conversations.appended(arrival.head, after, rows)
        self._stores.step_reads.hand_over(state, after)
        logger.info("run accepted", extra={"run_id": run.id, "agent_id": run.agent_id})
        return AcceptedRequest(run.id)

    def _mended(self, arrival: _Arrival) -> list[Message]:
        """The row of error returns for calls that are open at the end of an idle log; empty if there are none. No run would close
        them.
        """
        head = arrival.head
        if head.calls_open is False:
            return []
        last = self._stores.conversations.message(head.id, head.last_message) if head.last_message else None
        if last is None or last.role not in ("assistant", "approval"):
            return []
        tail = self._stores.conversations.page(head.id, limit=LAST_ROWS, descending=True)
        calls = open_at_end(tail[::-1])
        if not calls:
            return []
        agent = self._stores.agents.get(head.agent_id)
        closing = Closing(last.id, head.agent_id, last.conversation_id, None, arrival.at, agent.timezone if agent else "UTC")
        return [closed(calls, INTERRUPTED, closing)]

    def _queued(self, arrival: _Arrival) -> AcceptedRequest:
        head, run = arrival.head, arrival.run
        if head.waiting >= MOST_WAITING:
            detail = f"CONFLICT: Cannot send a new message: {head.waiting} messages wait for this agent already."
            raise Busy(detail, head.owner or head.pending)
        state = RunState(run, token=self._host.ids.token())
        self._write(arrival, state, self._stores.transactions.enqueue(head, state, arrival.marks, arrival.at))
        return AcceptedRequest(run.id, waits=True)

    def _write(self, arrival: _Arrival, state: RunState, changes: Sequence[Change]) -> None:
        """Write the transaction that accepts the request. Raises: FurtherConditionFailed, ConditionFailed."""
        further = arrival.request.further_changes(state.run)
        try:
            self._stores.writer.write(*changes, *further, token=state.token)
        except ConditionFailed as failure:
            if any(index >= len(changes) for index in failure.failed):
                raise FurtherConditionFailed(failure.failed) from failure
            raise

    def _run(self, request: SendRequest, head: Head, now: datetime) -> StoredRun:
        body = request.body
        metadata: JsonObject = {"run_type": request.run_type, **request.links}
        return StoredRun(
            id=request.run_id or self._host.ids.new("run"),
            agent_id=request.agent_id,
            conversation_id=None if head.id == request.agent_id else head.id,
            created_at=now,
            background=request.background,
            metadata=metadata,
            callback_url=request.callback_url,
            request_config=RequestConfig(**body.model_dump(include=set(RequestConfig.model_fields))),
            options=options_of(body),
            key_id=request.key_id,
            traceparent=request.traceparent,
        )


_BUSY = (
    "CONFLICT: Cannot send a new message: Another request (run_id={run_id}) is currently being processed for this conversation. "
    "Please wait for it to complete."
)
_PENDING = (
    "CONFLICT: Cannot send a new message: The agent is waiting for approval on a tool call. "
    "Please approve or deny the pending request before continuing."
)


def options_of(body: LettaRequest) -> RunOptions:
    """The options of a request's run."""
    options = RunOptions(**body.model_dump(include=set(RunOptions.model_fields)))
    options.approval_deadline_given = "approval_deadline" in body.model_fields_set
    return options


def body_digest(agent_id: str, body: bytes) -> str:
    """The SHA-256 hash of an agent's id and a request's body, in hexadecimal."""
    return hashlib.sha256(agent_id.encode() + b"\n" + body).hexdigest()
