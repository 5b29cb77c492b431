"""The renewal of a short lease while its worker lives, so that another worker takes the step soon after an unreported death."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import replace

from hibernaut.ports.storage.table import ConditionFailed, TableError
from hibernaut.schemas.errors import StoreUnavailable
from hibernaut.schemas.stop import RunStatus
from hibernaut.services.host import Host
from hibernaut.store.runs.runs import RunState, RunStore
from hibernaut.store.table.writer import Writer

RENEWALS = 3
"""A lease is renewed when a third of it has passed, so that two renewals in a row may fail."""
logger = logging.getLogger(__name__)


class LeaseRenewal:
    """Renews the lease that an attempt has acquired. Used by one thread at a time."""

    def __init__(self, runs: RunStore, writer: Writer, host: Host, state: RunState) -> None:
        self._runs = runs
        self._writer = writer
        self._host = host
        self._state = state
        self._number = 0

    @contextmanager
    def every(self, lease: float, seconds: float) -> Iterator[None]:
        """Renew the lease on a thread of its own until the block ends, at most for `seconds`. `lease`: its seconds from each
        renewal on.

        A renewal that is under way at the end of the block fails its condition, or precedes the commit.
        """
        stop = threading.Event()
        end = self._host.clock.monotonic() + seconds

        def renewing() -> None:
            while not stop.wait(lease / RENEWALS):
                seconds_left = end - self._host.clock.monotonic()
                if seconds_left <= 0 or not self._tried(min(lease, seconds_left)):
                    return

        threading.Thread(target=copy_context().run, args=(renewing,), daemon=True, name="lease").start()
        try:
            yield
        finally:
            stop.set()

    def _tried(self, seconds: float) -> bool:
        try:
            return self.renew(seconds)
        except (StoreUnavailable, TableError) as error:
            fields = {"run_id": self._state.run.id, "error": type(error).__qualname__}
            logger.warning("lease not renewed", extra=fields)
            return True

    def renew(self, seconds: float) -> bool:
        """Extend the lease to `seconds` from now. Returns False if the attempt holds it no more. Raises: StoreUnavailable."""
        before = self._state
        self._number += 1
        lease = int(self._host.clock.now().timestamp() * 1000) + int(seconds * 1000)
        renewed = replace(before, lease=lease, token=f"{before.token}.renewal{self._number}")
        try:
            self._writer.write(self._runs.renew(before, renewed), token=renewed.token)
        except ConditionFailed:
            return self._holds_still(before)
        self._state = replace(renewed, token=before.token)
        return True

    def _holds_still(self, before: RunState) -> bool:
        """Whether only this attempt's own writes have changed the lease, as the append of a long input does: the next renewal
        then succeeds.
        """
        state = self._runs.get(before.run.id)
        if state is None or state.run.status is not RunStatus.RUNNING or state.attempt != before.attempt or state.lease == 0:
            return False
        self._state = replace(before, lease=state.lease)
        return True
