"""The port `RunSignal`: by calls within one process, or by polling between processes.

Knows: which followers wait for which run. Must not know: what an event is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

FIRST_PATIENCE, MOST_PATIENCE = 0.5, 5.0
"""Seconds between polls if signals arrive: polling only replaces lost signals."""
FIRST_POLL, MOST_POLL = 0.05, 0.25
"""Seconds between polls if there are no signals."""
GROWTH = 1.6


class ProcessSignal:
    """Signals between followers and writers in one process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watchers: dict[str, dict[object, Callable[[], None]]] = {}

    def notify(self, run_id: str) -> None:
        """Wake all followers of the run, in the calling thread."""
        with self._lock:
            wakes = list(self._watchers.get(run_id, {}).values())
        for wake in wakes:
            wake()

    def watch(self, run_id: str, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` at each signal until the returned function is called."""
        mark = object()
        with self._lock:
            self._watchers.setdefault(run_id, {})[mark] = wake

        def leave() -> None:
            with self._lock:
                watchers = self._watchers.get(run_id, {})
                watchers.pop(mark, None)
                if not watchers:
                    self._watchers.pop(run_id, None)

        return leave

    def patience(self, looks: int) -> float:
        """Seconds until the next poll; increases with every poll without result."""
        return _growing(FIRST_PATIENCE, MOST_PATIENCE, looks)


class PolledProcessSignal(ProcessSignal):
    """Signals in this process, and polls as without them: a run is driven here, or by another process."""

    def patience(self, looks: int) -> float:
        """Seconds until the next poll: 50 ms after an event, increasing to 250 ms."""
        return _growing(FIRST_POLL, MOST_POLL, looks)


class PollingSignal:
    """No signals: followers poll, more often soon after an event."""

    def notify(self, run_id: str) -> None:
        """Does nothing: no follower runs in this process."""

    def watch(self, run_id: str, wake: Callable[[], None]) -> Callable[[], None]:  # noqa: ARG002 - the port names them
        """Does nothing: `wake` is never called."""
        return _nothing

    def patience(self, looks: int) -> float:
        """Seconds until the next poll: 50 ms after an event, increasing to 250 ms."""
        return _growing(FIRST_POLL, MOST_POLL, looks)


def _nothing() -> None:
    return None


def _growing(first: float, most: float, looks: int) -> float:
    return min(most, first * GROWTH ** min(looks, 10))
