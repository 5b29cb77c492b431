"""Wakes the run that waits for a run that has ended (decision 44).

The transaction that ends a called run leaves it in the index of due items until its caller is awake. If a worker dies in between,
the sweep wakes the caller. To wake a run twice does no harm: it looks at the replies and waits on.
"""

from __future__ import annotations

from contextlib import suppress

from hibernaut.domain.agents.agent_calls import awaited_by
from hibernaut.ports.runs.workflow import RunRef
from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.schemas.stop import RunStatus
from hibernaut.services.host import Host
from hibernaut.store.runs.runs import OPEN_FOR_MS, RunState
from hibernaut.store.stores import TenantStores


class CallerWakeUp:
    """Wakes callers, one for each called run that has ended."""

    def __init__(self, stores: TenantStores, host: Host) -> None:
        self._tenant = stores.tenant
        self._runs = stores.runs
        self._calls = stores.agent_calls
        self._writer = stores.writer
        self._workflow = host.workflow
        self._clock = host.clock

    def tell(self, run_id: str) -> None:
        """Wake the run that waits for this run, if this run has ended and its caller waits for no other run. Idempotent."""
        state = self._runs.get(run_id)
        caller_id = awaited_by(state.run) if state is not None and state.ended else None
        if state is None or caller_id is None:
            return
        caller = self._runs.get(caller_id)
        awake = (
            caller is not None and caller.run.status is RunStatus.RUNNING and self._is_answered(caller) and self._woken(caller_id)
        )
        with suppress(ConditionFailed):  # Another worker has woken the caller.
            self._writer.write(self._calls.mark_caller_awake(state))
        if awake:
            self._start(caller_id)

    def _is_answered(self, caller: RunState) -> bool:
        """Whether all runs that the caller waits for have ended. A caller that still sends looks at them itself before it
        waits.
        """
        run_ids = [reply.run_id for reply in self._calls.awaited(caller) if reply.run_id is not None]
        return bool(run_ids) and all(state.ended for state in self._runs.get_many(run_ids).values())

    def _woken(self, run_id: str) -> bool:
        """Make the caller due, so that the sweep starts it if this process dies. False: it has ended meanwhile."""
        due_ms = int(self._clock.now().timestamp() * 1000) + OPEN_FOR_MS
        try:
            self._writer.write(self._calls.wake(run_id, due_ms))
        except ConditionFailed:
            return False
        return True

    def _start(self, run_id: str) -> None:
        """Start the caller, unless a worker holds its lease: that worker looks at the replies before it waits."""
        state = self._runs.get(run_id)
        if state is not None and state.lease == 0:
            self._workflow.start(RunRef(self._tenant, run_id), name=f"{run_id}.r{state.attempt}")
