"""Taking a run's step, holding it, and giving it up: of all the workers of one run, the newest attempt alone may write (architecture 3).

Whoever does something for a run between two of its commits goes through here: steps, and the compaction of the window.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import NamedTuple

from hibernaut.ports.table import ConditionFailed, TableError
from hibernaut.ports.workflow import Next
from hibernaut.schemas.errors import StoreUnavailable
from hibernaut.schemas.stop import RunStatus
from hibernaut.services.host import Host
from hibernaut.store.runs import OPEN_FOR_MS, RunState, RunStore
from hibernaut.store.stores import TenantStores


class AdvanceResult(NamedTuple):
    """What a worker answers: what comes next, and how many steps the run has committed. `seconds`: until an approval is denied."""

    next: Next
    steps: int
    seconds: int = 0


class LeaseLost(Exception):
    """Another attempt, or whoever ended the run, has taken the step over: nothing more may be begun."""


def check_held(runs: RunStore, state: RunState) -> None:
    """Raises: Stopped where the run has ended or another attempt has taken its step."""
    seen = runs.get(state.run.id)
    if seen is None or seen.run.status is not RunStatus.RUNNING or seen.attempt != state.attempt:
        raise LeaseLost


class StepLease:
    """Takes, holds and gives up the lease on a run's step."""

    def __init__(self, stores: TenantStores, host: Host) -> None:
        self._runs = stores.runs
        self._writer = stores.writer
        self._host = host

    def held_by_another(self, state: RunState) -> bool:
        """Whether another attempt may be at the step right now."""
        return state.lease > self.now_ms() and not (self._host.alone and state.holder != self._host.holder)

    @contextmanager
    def taken(self, state: RunState, seconds: float) -> Iterator[RunState]:
        """The run with its step taken for this many seconds. Where the block fails, the lease is given up: the next try need not wait.

        Raises: Stopped where somebody else was quicker.
        """
        taken = self._take(state, seconds)
        done = False
        try:
            yield taken
            done = True
        finally:
            if not done:
                with suppress(LeaseLost, StoreUnavailable, TableError):
                    self.keep(taken, "over", 0, self.now_ms() + OPEN_FOR_MS)

    def keep(self, state: RunState, mark: str, lease: int, due_ms: int) -> None:
        """Hold the step until `lease` without a worker, or give it up (0). Raises: Stopped where somebody else has it."""
        kept = replace(state, lease=lease, attempt=state.attempt + 1, token=f"{state.token}.{mark}")
        try:
            self._writer.write(self._runs.keep(kept, due_ms), token=kept.token)
        except ConditionFailed as failure:
            raise LeaseLost from failure

    def now_ms(self) -> int:
        return int(self._host.clock.now().timestamp() * 1000)

    def _take(self, state: RunState, seconds: float) -> RunState:
        """Become the newest attempt at the step. Raises: Stopped."""
        lease = self.now_ms() + int(seconds * 1000)
        token = self._host.ids.token()
        taken = replace(state, attempt=state.attempt + 1, lease=lease, holder=self._host.holder, token=f"{token}.take")
        try:
            self._writer.write(self._runs.take(state, taken, lease + OPEN_FOR_MS), token=taken.token)
        except ConditionFailed as failure:
            raise LeaseLost from failure
        return replace(taken, token=token)
