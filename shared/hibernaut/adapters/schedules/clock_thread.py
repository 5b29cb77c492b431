"""Fires schedules on threads of this process, each at its time. Knows threads and a clock; `bind` provides the function that fires.

The clock's thread sleeps until the earliest time that it was told, and for ever while there is none. What it was told is only a reason to look: the function reads the
schedule, and does nothing if it is not due. What fails stays due in the table, and the sweep hands it over again.
"""

from __future__ import annotations

import heapq
import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from hibernaut.ports.clock import Clock
from hibernaut.ports.table import Key
from hibernaut.schemas.errors import place_of

WORKERS = 8
LONGEST_SLEEP = 3600.0
"""Seconds after which the thread looks at the clock again, which somebody may have set."""
logger = logging.getLogger(__name__)


class ScheduleClock:
    """The `ScheduleWorkers` of one process. `close` waits for what is being fired and drops the rest, which stays due in the table."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="schedules")
        self._fire: Callable[[Key], object] | None = None
        self._times: list[tuple[int, Key]] = []
        self._queued: set[Key] = set()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="schedule clock", daemon=True)

    def bind(self, fire: Callable[[Key], object]) -> None:
        self._fire = fire

    def note(self, place: Key, at_ms: int) -> None:
        """Fire the schedule at this place at `at_ms`, in milliseconds since 1970. A later call for the same place adds a time; it removes none."""
        with self._changed:
            heapq.heappush(self._times, (at_ms, place))
            if self._times[0] == (at_ms, place):
                self._changed.notify()

    def start(self, places: Sequence[Key]) -> None:
        """Fire the schedules at these places now, on the threads of the pool; after `close` nothing is fired."""
        with self._changed:
            fresh = [place for place in dict.fromkeys(places) if place not in self._queued]
            self._queued |= set(fresh)
        try:
            for place in fresh:
                self._pool.submit(self._fired, place)
        except RuntimeError:
            logger.info("schedules left to the next start", extra={"items": len(fresh)})

    def due(self, now_ms: int) -> list[Key]:
        """The places whose times have come, which are forgotten."""
        with self._changed:
            return self._pop(now_ms)

    def open(self) -> None:
        """Begin to fire at the noted times."""
        self._thread.start()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def wait(self, now_ms: int) -> float | None:
        """Seconds until the earliest time; None: there is none."""
        return max(0, self._times[0][0] - now_ms) / 1000 if self._times else None

    def _run(self) -> None:
        while True:
            with self._changed:
                seconds = self.wait(self._now_ms())
                if seconds != 0 and not self._closed:
                    self._changed.wait(None if seconds is None else min(seconds, LONGEST_SLEEP))
                if self._closed:
                    return
                places = self._pop(self._now_ms())
            if places:
                self.start(places)

    def _pop(self, now_ms: int) -> list[Key]:
        found = []
        while self._times and self._times[0][0] <= now_ms:
            found.append(heapq.heappop(self._times)[1])
        return found

    def _fired(self, place: Key) -> None:
        with self._changed:
            self._queued.discard(place)
        try:
            if self._fire is not None:
                self._fire(place)
        except Exception as error:  # noqa: BLE001  the thread's outermost line: the sweep hands the schedule over again
            logger.error("schedule not fired", extra={"place": place_of(error), "error": type(error).__name__})

    def _now_ms(self) -> int:
        return int(self._clock.now().timestamp() * 1000)
