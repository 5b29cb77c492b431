"""The port `RunSignal`: by a call within one process, by looking again where writer and follower are different processes.

Knows: who waits for which run. Must not know: what an event is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

FIRST_PATIENCE, MOST_PATIENCE = 0.5, 5.0
"""Seconds between looks where notices arrive by themselves: looking is only for the notice that was lost."""
FIRST_POLL, MOST_POLL = 0.05, 0.25
"""Seconds between looks where looking is the only way (architecture 5)."""
GROWTH = 1.6


class ProcessSignal:
    """Followers and writers in one process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watchers: dict[str, dict[object, Callable[[], None]]] = {}

    def notify(self, run_id: str) -> None:
        """Wake all who watch the run, in this thread."""
        with self._lock:
            wakes = list(self._watchers.get(run_id, {}).values())
        for wake in wakes:
            wake()

    def watch(self, run_id: str, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` at each notice until the returned function is called."""
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
        """Seconds until the next look; grows with every fruitless one."""
        return _growing(FIRST_PATIENCE, MOST_PATIENCE, looks)


class PollingSignal:
    """Nobody is told; followers look again, sooner after an event than in a long silence."""

    def notify(self, run_id: str) -> None:
        """Nothing: nobody here can be waiting."""

    def watch(self, run_id: str, wake: Callable[[], None]) -> Callable[[], None]:  # noqa: ARG002 - the port names them
        """`wake` is never called."""
        return _nothing

    def patience(self, looks: int) -> float:
        """Seconds until the next look: 50 ms after an event, growing to 250 ms."""
        return _growing(FIRST_POLL, MOST_POLL, looks)


def _nothing() -> None:
    return None


def _growing(first: float, most: float, looks: int) -> float:
    return min(most, first * GROWTH ** min(looks, 10))
