"""Fires schedules on threads of this process, each at its time. Knows threads and a clock; `bind` provides the function that
fires.

The clock's thread sleeps until the earliest known time, or until the next notification. A time is only a hint: the function reads
the schedule, and does nothing if it is not due. A failed schedule stays due in the table, and the sweep passes it on again.
"""

from __future__ import annotations

import heapq
import threading

from hibernaut.adapters.due_threads import DueThreads
from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.table import Key

WORKERS = 8
LONGEST_SLEEP = 3600.0
"""Seconds after which the thread looks at the clock again, which somebody may have set."""


class ScheduleClock(DueThreads):
    """The `ScheduleWorkers` of one process. `close` waits for what is being fired and drops the rest, which stays due in the
    table.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__("schedules", WORKERS, "schedule not fired")
        self._clock = clock
        self._times: list[tuple[int, Key]] = []
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._tick, name="schedule clock", daemon=True)

    def note(self, place: Key, at_ms: int) -> None:
        """Fire the schedule at this place at `at_ms`, in milliseconds since 1970. A later call for the same place adds a time; it
        removes none.
        """
        with self._changed:
            heapq.heappush(self._times, (at_ms, place))
            if self._times[0] == (at_ms, place):
                self._changed.notify()

    def due(self, now_ms: int) -> list[Key]:
        """Remove and return the places of due schedules."""
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
        super().close()

    def wait(self, now_ms: int) -> float | None:
        """Seconds until the earliest time; None: there is none."""
        return max(0, self._times[0][0] - now_ms) / 1000 if self._times else None

    def _tick(self) -> None:
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

    def _now_ms(self) -> int:
        return int(self._clock.now().timestamp() * 1000)
