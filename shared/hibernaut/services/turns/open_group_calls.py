"""The calls of a group's run that have not returned when the run ends from outside: what they have used, and their cancel
(decision 47).

The transaction that cancels a run of a group, or of its supervisor, leaves it in the index of due items until the runs that
answer its calls are cancelled too. If a worker dies in between, the sweep does it. To pass a cancel on twice does no harm.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress

from hibernaut.domain.agents.agent_calls import awaited_by, message_otid
from hibernaut.domain.agents.group_turns import used_by
from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.schemas.errors import Conflict, NotFound
from hibernaut.schemas.runs.turn import AwaitedReply, Claim
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.usage import CalledUsage
from hibernaut.store.runs.runs import RunState, claimed_step
from hibernaut.store.stores import TenantStores

logger = logging.getLogger(__name__)


class OpenGroupCalls:
    """The open calls of the runs of groups, and of their supervisors. `end`: ends a run for a reason."""

    def __init__(self, stores: TenantStores, end: Callable[[str, StopReason], None]) -> None:
        self._runs = stores.runs
        self._calls = stores.agent_calls
        self._idempotency = stores.idempotency
        self._writer = stores.writer
        self._end = end

    def used(self, state: RunState) -> CalledUsage:
        """What the runs that answer the calls of a run's current step have used up to now."""
        usage, open_runs = CalledUsage(), list[str]()
        for claim in self._calls.claims(state.run.id, claimed_step(state)):
            if claim.result is not None:
                usage = usage.plus(claim.result.used)
            else:
                open_runs += [reply.run_id for reply in claim.awaits if reply.run_id]
        return usage.plus(used_by(each.run for each in self._runs.get_many(open_runs).values()))

    def pass_on(self, run_id: str, *, last: bool = False) -> None:
        """Cancel the runs that answer the calls of a cancelled run.

        A message that is being sent at this moment has no run yet. Its sender passes the cancel on when the run exists; the sweep
        retries `last`.
        """
        state = self._runs.get(run_id)
        if state is None or state.run.cancelled_step is None:
            return
        claims = [claim for claim in self._calls.claims(run_id, state.run.cancelled_step) if claim.result is None]
        cancelled = [self._cancelled(state, claim, reply) for claim in claims for reply in claim.awaits]
        if state.run.callback_url or awaited_by(state.run) or not (last or all(cancelled)):
            return  # The delivery of the run's end removes it from the index.
        with suppress(ConditionFailed):
            self._writer.write(self._calls.mark_caller_awake(state))

    def _cancelled(self, state: RunState, claim: Claim, reply: AwaitedReply) -> bool:
        """Cancel the run of one reply. False: it may begin later, or does not settle."""
        if not reply.dispatched or reply.error is not None:
            return True
        run_id = reply.run_id or self._accepted(state, claim, reply)
        if run_id is None:
            return False
        try:
            self._end(run_id, StopReason.CANCELLED)
        except NotFound:
            return True
        except Conflict:
            logger.warning("cancel not passed on", extra={"run_id": state.run.id, "called_run_id": run_id})
            return False
        return True

    def _accepted(self, state: RunState, claim: Claim, reply: AwaitedReply) -> str | None:
        """The run that has accepted the message of a call that has not recorded it."""
        otid = message_otid(state.run.id, state.run.cancelled_step or 0, claim.call_id, reply.agent_id)
        return self._idempotency.run_of(reply.agent_id, otid)
