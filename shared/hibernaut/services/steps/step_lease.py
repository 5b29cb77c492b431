"""The lease on a run's step: acquire, extend and release. Of all workers on one run, only the newest attempt may write.

All work for a run between two of its commits holds the lease: steps, and the compaction of the window.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from hibernaut.ports.runs.workflow import Next
from hibernaut.ports.storage.table import ConditionFailed, TableError
from hibernaut.schemas.errors import StoreUnavailable
from hibernaut.schemas.runs.run import TakeUp
from hibernaut.schemas.stop import RunStatus
from hibernaut.services.host import Host
from hibernaut.services.steps.lease_renewal import LeaseRenewal
from hibernaut.store.runs.runs import AWAITING, OPEN_FOR_MS, RunState, RunStore
from hibernaut.store.stores import TenantStores

WAITING = "wait"
"""The mark of a lease that was extended without a worker."""
MOST_TAKE_UPS = 20
"""The newest takings after a death that a run keeps."""


class AdvanceResult(NamedTuple):
    """The result of a worker: the next action, and the number of steps that the run has committed. `seconds`: the time until a
    pending approval is denied, 0 without a deadline.
    """

    next: Next
    steps: int
    seconds: int = 0


class LeaseLost(Exception):
    """The lease is lost: another attempt has taken the step, or the run has ended. The worker must stop."""


def check_held(runs: RunStore, state: RunState) -> None:
    """Raises: LeaseLost if the run has ended or another attempt has taken its step."""
    current = runs.get(state.run.id)
    if current is None or current.run.status is not RunStatus.RUNNING or current.attempt != state.attempt:
        raise LeaseLost


class StepLease:
    """Acquires, extends and releases the lease on a run's step."""

    def __init__(self, stores: TenantStores, host: Host) -> None:
        self._runs = stores.runs
        self._calls = stores.agent_calls
        self._writer = stores.writer
        self._host = host

    def held_by_another(self, state: RunState) -> bool:
        """Whether another attempt holds an unexpired lease. On a host that runs alone, leases of earlier processes do not
        count.
        """
        return state.lease > self.now_ms() and not (self._host.alone and state.holder != self._host.holder)

    @contextmanager
    def acquire(self, state: RunState, seconds: float) -> Iterator[RunState]:
        """Acquire the lease for this many seconds; the context value is the run with the lease. If the block raises, the lease is
        released, so that the next attempt need not wait.

        If the host's leases are shorter, the lease is renewed meanwhile. Raises: LeaseLost if another attempt has acquired the
        lease, or the run has changed.
        """
        short = self._host.lease if self._host.lease is not None and self._host.lease < seconds else None
        leased = self._take(state, short or seconds)
        succeeded = False
        try:
            with LeaseRenewal(self._runs, self._writer, self._host, leased).every(short, seconds) if short else nullcontext():
                yield leased
            succeeded = True
        finally:
            if not succeeded:
                with suppress(LeaseLost, StoreUnavailable, TableError):
                    self.keep(leased, "over", 0, self.now_ms() + OPEN_FOR_MS)

    def keep(self, state: RunState, mark: str, lease: int, due_ms: int) -> None:
        """Extend the lease to `lease` (milliseconds since 1970) without a worker, or release it (0). `due_ms`: when the sweep
        looks at the run. Raises: LeaseLost if another attempt has the lease, or the run has ended.
        """
        changed = replace(state, lease=lease, attempt=state.attempt + 1, token=f"{state.token}.{mark}")
        try:
            self._writer.write(self._runs.keep(changed, due_ms), token=changed.token)
        except ConditionFailed as failure:
            raise LeaseLost from failure

    def await_replies(self, state: RunState, due_ms: int) -> RunState | None:
        """Release the step until a reply of another agent wakes the run, or until `due_ms`, when the sweep looks at it.

        Returns None; or the run as it is now, still with the lease, if a reply has woken it since `state` was read. Raises:
        LeaseLost.
        """
        waiting = replace(state, lease=0, holder=AWAITING, attempt=state.attempt + 1, token=f"{state.token}.replies")
        try:
            self._writer.write(self._calls.wait(waiting, due_ms), token=waiting.token)
        except ConditionFailed as failure:
            current = self._runs.get(state.run.id)
            if current is None or current.woken == state.woken:
                raise LeaseLost from failure
            check_held(self._runs, state)
            return replace(state, woken=current.woken)
        return None

    def now_ms(self) -> int:
        """The host's time in milliseconds since 1970, in which leases are stated."""
        return int(self._host.clock.now().timestamp() * 1000)

    def _take(self, state: RunState, seconds: float) -> RunState:
        """Acquire the lease as the newest attempt. Raises: LeaseLost."""
        lease = self.now_ms() + int(seconds * 1000)
        token = self._host.ids.token()
        leased = replace(state, attempt=state.attempt + 1, lease=lease, holder=self._host.holder, token=f"{token}.take")
        if (death := self._death(state)) is not None:
            leased = replace(leased, take_ups=(*state.take_ups, death)[-MOST_TAKE_UPS:])
        try:
            self._writer.write(self._runs.take(state, leased), token=leased.token)
        except ConditionFailed as failure:
            raise LeaseLost from failure
        return replace(leased, token=token)

    def _death(self, state: RunState) -> TakeUp | None:
        """The take-over of this step from a dead worker, or None. A live worker releases its lease, or commits."""
        if not state.lease or state.token.endswith(f".{WAITING}"):
            return None
        now = self._host.clock.now()
        process_gone = self._host.alone and state.holder != self._host.holder
        expired = state.lease <= self.now_ms()
        return TakeUp(
            at=now,
            step=state.run.steps + 1,
            attempt=state.attempt + 1,
            reason="lease_expired" if expired else "process_gone" if process_gone else "death_reported",
            lease_until=datetime.fromtimestamp(state.lease / 1000, UTC),
            reply_stored=state.journal != "",
            sweeps=state.sweeps,
        )
