"""Ends runs from outside: cancel, close and interrupt, with the outcome of tool calls that had begun.

One transaction writes a return for every open call, the run's remaining input, the journaled reply with a return for every call,
the memory changes of calls with a recorded result, the closing events, and the release or handover of the conversation. Ending a
run is idempotent. Of an end and a concurrent commit exactly one wins. Cancelling a run that ended with an approval request
withdraws the request.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from hibernaut.domain.agents.group_turns import calls_group
from hibernaut.domain.agents.sleeptime import triggered_by
from hibernaut.domain.budgets import Spending
from hibernaut.domain.memory.versions import merged
from hibernaut.domain.tools.tool_returns import as_text
from hibernaut.domain.turn import step_rows
from hibernaut.domain.turn.actor import Call, CallResult
from hibernaut.domain.turn.approvals import CANCELLED, answer_row, denial, refusals, results_of, to_run
from hibernaut.domain.turn.call_outcomes import of_interrupted
from hibernaut.domain.turn.turn_machine import absorb
from hibernaut.domain.turn.turn_values import CallsPending, Interrupted, Turn
from hibernaut.domain.window.open_calls import INTERRUPTED, Closing, OpenCall, closed
from hibernaut.ports.runs.workflow import RunRef
from hibernaut.ports.storage.table import MAX_CHANGES, ConditionFailed, TableError
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.errors import Conflict, HibernautError, NotFound
from hibernaut.schemas.faults.run_faults import no_run
from hibernaut.schemas.memory.version import Author
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.events import RunEvent
from hibernaut.schemas.runs.run import RunError, StoredRun
from hibernaut.schemas.runs.turn import Claim, Journal, Stamp
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.services.host import Host
from hibernaut.services.steps.measurements import end_figures
from hibernaut.services.steps.model_step import StepTiming, replayed
from hibernaut.services.steps.step_lease import LeaseLost
from hibernaut.services.steps.step_records import ended, events_of, step_record
from hibernaut.services.steps.step_work import StepLoader, StepWork, answered_by
from hibernaut.services.tool_calls.call_policies import CallPolicies
from hibernaut.services.tool_calls.memory_changes import MemoryChanges, MemoryEdits, author_of
from hibernaut.services.tool_calls.tool_execution import apply_result, is_outside
from hibernaut.services.turns.approvals import ApprovalAnswers
from hibernaut.services.turns.handovers import Handovers, InterruptingRun
from hibernaut.services.turns.open_group_calls import OpenGroupCalls
from hibernaut.services.turns.unit_of_work import MemoryConflict, UnitOfWork, UnitWriter
from hibernaut.store.runs.runs import RunState, claimed_step, unchanged
from hibernaut.store.runs.transaction_values import INPUT_PAGE, ApprovalConsumption, RunEnding, StepWrites
from hibernaut.store.stores import TenantStores

TRIES = 20
AROUND = 16
"""The number of changes in the transaction that ends a run, its events among them, without its rows, the marks of an interrupting
run, its conditions on calls, and the counters of budgets.
"""
OF_A_TURN = 3
"""The number of changes by which the end of a run is counted as a turn of an agent with sleep-time agents."""
MOST_EDITS = 20
"""The maximum number of memory changes in that transaction, from calls with a recorded result. If there are more, none is
written.
"""
NOT_RUN = "The run ended before this call was made."
NOT_KEPT = "The call was made, but the run ended, and its memory changes were too many for one transaction."
logger = logging.getLogger(__name__)


class RunTermination:
    """Ends runs from outside: cancel, close, interrupt, withdraw."""

    def __init__(
        self,
        stores: TenantStores,
        host: Host,
        *,
        loader: StepLoader,
        handovers: Handovers,
        writer: UnitWriter,
        approvals: ApprovalAnswers,
    ) -> None:
        self._tenant = stores.tenant
        self._runs = stores.runs
        self._conversations = stores.conversations
        self._transactions = stores.transactions
        self._writer = stores.writer
        self._loader = loader
        self._handovers = handovers
        self._units = writer
        self._agents = stores.agents
        self._approvals = approvals
        self._memory = MemoryChanges(stores, host)
        self._group_calls = OpenGroupCalls(stores, self.end)
        self._policies = CallPolicies(stores, host)
        self._workflow = host.workflow
        self._clock = host.clock
        self._ids = host.ids

    def end(self, run_id: str, reason: StopReason, error: RunError | None = None) -> None:
        """End the run for this reason. A run that has ended stays as it is, but CANCELLED withdraws its pending approval request.

        Raises: NotFound; Conflict if the run keeps changing for `TRIES` attempts.
        """
        for _ in range(TRIES):
            state = self._runs.get(run_id)
            if state is None:
                raise no_run(run_id)
            head = self._conversations.head(state.run.conversation_id or state.run.agent_id)
            try:
                if state.ended:
                    return self._withdraw(state.run, head) if reason is StopReason.CANCELLED else None
                self._end(state, head, reason, error)
            except (LeaseLost, ConditionFailed, MemoryConflict):
                continue
            logger.info("run ended from outside", extra={"run_id": run_id, "stop_reason": reason.value})
            self._workflow.stop(RunRef(self._tenant, run_id))
            if reason is StopReason.CANCELLED and calls_group(state.run):
                self.pass_on(run_id)
            self._units.tell(state.run)
            return None
        raise Conflict(f"CONFLICT: Run {run_id} keeps being changed by other requests; try again.")

    def pass_on(self, run_id: str, *, last: bool = False) -> None:
        """Cancel what answers the calls of a group's run that was cancelled. If that fails here, the sweep does it, which looks
        `last`.
        """
        with suppress(HibernautError, TableError, OSError):
            self._group_calls.pass_on(run_id, last=last)

    def interrupt(self, head: Head, interrupting: InterruptingRun) -> bool:
        """In one transaction, end the run that owns the conversation and make the interrupting run its owner. Returns False if
        the conversation has changed: the caller reads it again. The caller also starts the interrupting run's workflow.
        """
        owner = self._runs.get(head.owner or "")
        if owner is None or owner.ended:
            return False
        try:
            self._end(owner, head, StopReason.CANCELLED, None, interrupting)
        except (LeaseLost, ConditionFailed, MemoryConflict):
            return False
        logger.info("run interrupted", extra={"run_id": owner.run.id, "by": interrupting.state.run.id})
        self._workflow.stop(RunRef(self._tenant, owner.run.id))
        if calls_group(owner.run):
            self.pass_on(owner.run.id)
        return True

    def _withdraw(self, run: StoredRun, head: Head | None) -> None:
        """Withdraw the pending approval request of an ended run, and write an error return for each of its calls."""
        record = self._approvals.pending(head) if head is not None and head.pending == run.id else None
        if head is None or record is None:
            return
        now, token = self._clock.now(), self._ids.token()
        agent = self._agents.get(run.agent_id)
        message_id = self._ids.new("message", after=head.last_message)
        answer = answer_row(record, refusals(record, CANCELLED), run, message_id, now)
        closing = Closing(
            message_id=self._ids.new("message", after=answer.id),
            agent_id=run.agent_id,
            conversation_id=run.conversation_id,
            run_id=run.id,
            at=now,
            timezone=agent.timezone if agent else "UTC",
        )
        calls = [OpenCall(call.id, call.name, record.step_id) for call in record.calls]
        rows = [answer, closed(calls, denial(CANCELLED), closing)]
        consumed = record.model_copy(update={"consumed_by": run.id, "how": "cancelled"})
        succession = self._handovers.next_owner(head, rows, now)
        changes = self._transactions.withdraw(head, ApprovalConsumption(consumed, rows), succession, token, now)
        self._writer.write(*changes, token=token)
        self._approvals.end_wait(run.id)
        if succession.run:
            self._workflow.start(RunRef(self._tenant, succession.run.run.id))

    def _end(
        self,
        before: RunState,
        head: Head | None,
        reason: StopReason,
        error: RunError | None,
        interrupting: InterruptingRun | None = None,
    ) -> None:
        if head is not None and before.run.status is RunStatus.RUNNING and before.run.input and before.run.resolve is None:
            self._handovers.append_input(before, unchanged)
            raise LeaseLost  # The input is in the log now: the run and its conversation must be read again.
        run = before.run.model_copy(deep=True)
        now = self._clock.now()
        ended(run, reason, now)
        if error is None and reason is StopReason.ERROR:
            error = RunError(code="internal_error", message="The run was interrupted and could not be taken up again.")
        run.error = error
        if before.journal and calls_group(run):
            run.called = self._group_calls.used(before).plus(run.called)
            run.cancelled_step = claimed_step(before) if reason is StopReason.CANCELLED else None
        after = replace(before, run=run, token=self._ids.token())
        if head is None:
            streamed = self._runs.events(run.id, before.next_seq - 1, now)  # the record does not know the numbers of these yet
            after = replace(after, next_seq=streamed[-1][0] + 1 if streamed else before.next_seq)
            self._writer.write(*self._transactions.end_alone(RunEnding(after, outside=before), now), token=after.token)
            logger.info("run ended", extra=end_figures(run))
        elif before.run.status is RunStatus.CREATED:
            self._writer.write(*self._transactions.cancel_queued(head, RunEnding(after), now), token=after.token)
            logger.info("run ended", extra=end_figures(run))
        elif before.run.resolve is not None:
            self._end_resolving(before, after, head, interrupting)
        else:
            self._end_running(before, after, head, interrupting)

    def _end_running(self, before: RunState, after: RunState, head: Head, interrupting: InterruptingRun | None) -> None:
        work, turn, journal, edits = self._journaled(before, after.run, _room(before, interrupting), after.token)
        writes, ended_head = StepWrites(), head
        if work is not None and turn is not None and turn.stepped is not None and journal is not None:
            head, ended_head, rows = work.head, work.after, turn.stepped.rows
            step = step_record(work, turn.stepped, StepTiming.of(journal, self._clock), self._clock.now(), self._ids)
            step.status = "cancelled" if after.run.stop_reason is StopReason.CANCELLED else "failed"
            spent = Spending.of(journal.usage, steps=1)
            writes = StepWrites(rows, step, events_of(work, rows, journal.stamp), work.system, spent, edits.facts)
            edits.changes.extend(self._policies.records(work, turn.stepped.outcomes, journal.stamp.step_id))
            if work.system is not None:  # The reply follows the system message that its model received.
                edits.changes.append(self._conversations.put_message(head.id, work.system, rewrite=True))
            after.run.sleeptime_group = triggered_by(work.agent)
            after.run.first_message = after.run.first_message or rows[0].id
            after.run.last_message = rows[-1].id
            after.run.steps += 1
            after.run.usage = after.run.usage.plus(journal.usage)
        after.run.memory_versions = merged(after.run.memory_versions, edits.versions)
        self._units.write(UnitOfWork(head, ended_head, after, writes, edits.changes, before, interrupting=interrupting))

    def _end_resolving(self, before: RunState, after: RunState, head: Head, interrupting: InterruptingRun | None) -> None:
        """End a run that resolves an earlier run's calls: write the returns of these calls first, then the run's input.

        Raises: LeaseLost after the first page of a long input, with which the run goes on: it must be read again.
        """
        is_long = len(before.run.input) > INPUT_PAGE
        resolution, now, edits = before.run.resolve, self._clock.now(), MemoryEdits([], ())
        rows: list[Message] = []
        events: list[RunEvent] = []
        with suppress(NotFound):
            work = self._loader.load(before)
            head, after.run.sleeptime_group = work.head, triggered_by(work.agent)
            room = _room(before, interrupting) - min(len(before.run.input), INPUT_PAGE)
            if resolution:
                results, edits = self._claimed(work, to_run(resolution), room, after.token, step_id=resolution.step_id)
            else:
                results = ()
            tool_id = self._ids.new("message", after=head.last_message)
            stamp = Stamp(
                step_id=resolution.step_id if resolution else "", assistant_id="", tool_id=tool_id, heartbeat_id="", at=now
            )
            if resolution:
                call_results = results_of(resolution, results)
                rows.append(step_rows.returns(work.turn.actor, stamp, call_results))
                edits.changes.extend(self._policies.records(work, of_interrupted(call_results), resolution.step_id))
            events = events_of(work, rows)
        rows += self._handovers.input_rows(before.run, rows[-1].id if rows else head.last_message, now)
        if is_long:  # A worker that resolves the calls now may not commit any more.
            going = before.run.model_copy(update={"sleeptime_group": after.run.sleeptime_group})
            after = replace(before, run=going, attempt=before.attempt + 1, lease=0, token=after.token)
        after.run.resolve, after.run.input = None, before.run.input[INPUT_PAGE:]
        after.run.last_message = rows[-1].id if rows else after.run.last_message
        writes = StepWrites(rows, None, events, facts=edits.facts)
        after.run.memory_versions = merged(after.run.memory_versions, edits.versions)
        self._units.write(
            UnitOfWork(head, head, after, writes, edits.changes, before, interrupting=None if is_long else interrupting)
        )
        if is_long:
            raise LeaseLost

    def _journaled(
        self, state: RunState, after: StoredRun, room: int, token: str
    ) -> tuple[StepWork | None, Turn | None, Journal | None, MemoryEdits]:
        """The turn of the journaled reply, ended as `after` states. Each call has its recorded result, or an error that says that
        the call may have been made.

        The returned changes belong to the same transaction: the memory changes of recorded results, and the conditions that the
        calls reported as not made are still unclaimed. All parts are empty if there is no journal or the agent no longer exists.
        """
        journal, nothing = self._runs.journal_of(state), MemoryEdits([], ())
        if journal is None:
            return None, None, None, nothing
        try:
            work = answered_by(self._loader.load(state), journal.stamp.fallback)
        except NotFound:
            return None, None, None, nothing
        turn = absorb(work.turn, replayed(journal))
        if not isinstance(turn.state, CallsPending):
            return None, None, None, nothing
        results, edits = self._claimed(work, turn.state.calls, room, token, step_id=journal.stamp.step_id)
        return work, absorb(turn, Interrupted(results, after.stop_reason, after.error)), journal, edits

    def _claimed(
        self, work: StepWork, calls: Sequence[Call], room: int, token: str, *, step_id: str
    ) -> tuple[tuple[CallResult, ...], MemoryEdits]:
        """The results of calls that may have begun, their memory changes, and a condition for each call that is reported as not
        made.

        `room` limits the number of changes. The calls for which no condition fits are reported as possibly made.
        """
        state = work.state
        room = max(0, room - (OF_A_TURN if triggered_by(work.agent) else 0) - bool(work.turn.actor.policies))
        claims = {call.id: self._runs.claim(state, call.id) for call in calls}
        edits, refused = self._edits(work, calls, claims, token, author_of(work, step_id))
        fits = len(edits.changes) <= min(MOST_EDITS, max(0, room))
        edits = edits if fits else MemoryEdits([], ())
        # A call that is refused now may have been begun by a worker that read the agent when it still had the tool.
        started = [call.id for call in calls if claims[call.id] is None and (call.refusal is not None or is_outside(work, call))]
        room = max(0, room - len(edits.changes))
        unstarted, possibly_started = started[:room], started[room:]
        unclaimed = [self._runs.unclaimed(state, call_id) for call_id in unstarted]
        results = tuple(
            _result_of(call, claims[call.id], refused.get(call.id), unsure=call.id in possibly_started, memory_kept=fits)
            for call in calls
        )
        return results, edits._replace(changes=[*edits.changes, *unclaimed])

    def _edits(
        self, work: StepWork, calls: Sequence[Call], claims: Mapping[str, Claim | None], token: str, author: Author
    ) -> tuple[MemoryEdits, dict[str, CallResult]]:
        """The memory changes of the calls with a recorded result. Calls whose changes are not allowed have their error results,
        by call id.
        """
        effects, refused = work.effects, {}
        for call in calls:
            claim = claims[call.id]
            if claim is not None and claim.result is not None:
                result, effects = apply_result(call, claim.result, effects)
                if result.status != claim.result.status:
                    refused[call.id] = result
        return self._memory.of(replace(work, effects=effects), self._clock.now(), token, author), refused


def _room(ends: RunState, interrupting: InterruptingRun | None) -> int:
    """The number of changes that fit into the ending transaction beside the rows and marks of the run that owns the conversation
    next.
    """
    input_changes = (
        INPUT_PAGE if interrupting is None else min(INPUT_PAGE, len(interrupting.state.run.input)) + len(interrupting.marks)
    )
    budgets = [state.run.budgets for state in (ends, interrupting.state if interrupting else None) if state and state.run.budgets]
    budget_changes = sum(len(each.subjects) + len(each.slots) for each in budgets)
    return MAX_CHANGES - AROUND - input_changes - budget_changes


def _result_of(call: Call, claim: Claim | None, refused: CallResult | None, *, unsure: bool, memory_kept: bool) -> CallResult:
    if claim is None and not unsure:
        return CallResult(call, "error", NOT_RUN)
    if claim is None or claim.result is None:
        return CallResult(call, "error", INTERRUPTED)
    result = claim.result
    if result.blocks and not memory_kept:
        return CallResult(call, "error", NOT_KEPT)
    if refused is not None:
        return refused
    message = as_text(result.value if result.status == "success" else result.error)
    return CallResult(call, result.status, message, message, tuple(result.stdout), tuple(result.stderr))
