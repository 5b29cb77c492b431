"""Ending a run from outside: cancel, close, and what becomes of a reply whose tools had begun (architecture 3, cancel).

One transaction: the journaled reply with a return for every call, the closing events, the release of the conversation or its handing
over. It is idempotent, and of an ending and a commit exactly one wins.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from hibernaut.domain import step_rows
from hibernaut.domain.actor import Call, CallResult
from hibernaut.domain.model_requests import calls_of
from hibernaut.domain.tool_returns import as_text
from hibernaut.domain.turn import Stepped
from hibernaut.ports.table import Change, ConditionFailed
from hibernaut.ports.workflow import RunRef
from hibernaut.schemas.conversation import Head
from hibernaut.schemas.errors import Conflict, NotFound
from hibernaut.schemas.message import Message
from hibernaut.schemas.run import RunError
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.schemas.turn import Claim, Journal
from hibernaut.services.asking import Timing, reply_of
from hibernaut.services.attempts import Stopped
from hibernaut.services.calls import INTERRUPTED, is_outside
from hibernaut.services.commits import Commits, MemoryMoved
from hibernaut.services.host import Host
from hibernaut.services.step_records import ended, events_of, step_record
from hibernaut.services.turn_work import Loader, Work
from hibernaut.store.runs import RunState
from hibernaut.store.stores import Stores
from hibernaut.store.transactions import Ending, Written

TRIES = 20
MOST_CHECKS = 30
"""Calls of one reply of which the ending transaction makes sure that they were not begun; of more it says that they may have happened."""
NOT_RUN = "The run ended before this call was made."
logger = logging.getLogger(__name__)


class Endings:
    def __init__(
        self,
        stores: Stores,
        host: Host,
        loader: Loader,
        commits: Commits,
    ) -> None:
        self._runs = stores.runs
        self._conversations = stores.conversations
        self._transactions = stores.transactions
        self._writer = stores.writer
        self._loader = loader
        self._commits = commits
        self._workflow = host.workflow
        self._clock = host.clock
        self._ids = host.ids

    def end(self, tenant: str, run_id: str, reason: StopReason, error: RunError | None = None) -> None:
        """End the run for this reason; nothing happens where it has ended. Raises: NotFound, Conflict where it never settles."""
        for _ in range(TRIES):
            state = self._runs.get(tenant, run_id)
            if state is None:
                raise NotFound(f"Run with ID {run_id} not found")
            if state.ended:
                return
            head = self._conversations.head(tenant, state.run.conversation_id or state.run.agent_id)
            try:
                self._end(tenant, state, head, reason, error)
            except (Stopped, ConditionFailed, MemoryMoved):
                continue
            logger.info("run ended from outside", extra={"run_id": run_id, "stop_reason": reason.value})
            self._workflow.stop(RunRef(tenant, run_id))
            return
        raise Conflict(f"Run {run_id} cannot be ended: it does not settle. Try again.")

    def _end(self, tenant: str, before: RunState, head: Head | None, reason: StopReason, error: RunError | None) -> None:
        run = before.run.model_copy(deep=True)
        now = self._clock.now()
        ended(run, reason, now)
        if error is None and reason is StopReason.ERROR:
            error = RunError(code="internal_error", message="The run was interrupted and could not be taken up again.")
        run.error = error
        after = replace(before, run=run, token=self._ids.token())
        if head is None:
            self._writer.write(*self._transactions.end_alone(tenant, Ending(after, outside=before), now), token=after.token)
        elif before.run.status is RunStatus.CREATED:
            self._writer.write(*self._transactions.cancel_queued(tenant, head, Ending(after), now), token=after.token)
        else:
            self._end_running(tenant, before, after, head)

    def _end_running(self, tenant: str, before: RunState, after: RunState, head: Head) -> None:
        work, rows, journal, unclaimed = self._journaled(tenant, before)
        written = Written()
        if work is not None and journal is not None:
            head = work.head
            stepped = Stepped(rows, journal.usage, after.run.stop_reason, journal.stamp, error=after.run.error)
            step = step_record(work, stepped, Timing.of(journal, self._clock), self._clock.now(), self._ids)
            step.status = "cancelled" if after.run.stop_reason is StopReason.CANCELLED else "failed"
            written = Written(rows, step, events_of(work, rows))
            after.run.first_message = after.run.first_message or rows[0].id
            after.run.last_message = rows[-1].id
            after.run.steps += 1
            after.run.usage = after.run.usage.plus(journal.usage)
        self._commits.last_step(tenant, (head, head), after, written, lambda: unclaimed, outside=before)

    def _journaled(self, tenant: str, state: RunState) -> tuple[Work | None, tuple[Message, ...], Journal | None, list[Change]]:
        """The rows of the reply that is journaled: each call with its recorded result, or with the word that it may have happened.

        The changes are the condition of what the rows say: that no call was begun which they say was not. Without an agent there is
        nobody to tell.
        """
        journal = self._runs.journal_of(tenant, state)
        if journal is None:
            return None, (), None, []
        try:
            work = self._loader.load(tenant, state)
        except NotFound:
            return None, (), None, []
        turn, reply = work.turn, reply_of(journal)
        calls = calls_of(turn.actor, reply, turn.history, turn.last_return)
        claims = {call.id: self._runs.claim(tenant, state, call.id) for call in calls}
        open_calls = [call.id for call in calls if claims[call.id] is None and is_outside(work, call)]
        unclaimed: list[Change] = [self._runs.unclaimed(tenant, state, call_id) for call_id in open_calls[:MOST_CHECKS]]
        unsure = open_calls[MOST_CHECKS:]
        results = tuple(_result(call, claims[call.id], unsure=call.id in unsure) for call in calls)
        rows = (
            step_rows.assistant(turn.actor, reply, journal.stamp, calls),
            step_rows.returns(turn.actor, journal.stamp, results),
        )
        return work, rows, journal, unclaimed


def _result(call: Call, claim: Claim | None, *, unsure: bool) -> CallResult:
    if claim is None and not unsure:
        return CallResult(call, "error", NOT_RUN)
    if claim is None or claim.result is None:
        return CallResult(call, "error", INTERRUPTED)
    result = claim.result
    message = as_text(result.value if result.status == "success" else result.error)
    return CallResult(call, result.status, message, message, tuple(result.stdout), tuple(result.stderr))
