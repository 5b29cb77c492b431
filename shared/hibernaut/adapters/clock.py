"""The ports `Clock` and `Ids`, by the system's clock and random numbers.

Knows: time and randomness. Must not know: what an id identifies.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from datetime import UTC, datetime

from hibernaut.ports.clock import Clock
from hibernaut.schemas.ids import compose, order_of

LAST_COUNTER = 0xFFF
RANDOM_BITS = 55
_BYTES = (RANDOM_BITS + 7) // 8
_AT_ONCE = 64


class SystemClock:
    """The system's clock."""

    def now(self) -> datetime:
        """The current time in UTC, with microseconds."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Block the calling thread for this many seconds."""
        time.sleep(max(0.0, seconds))


class TimeOrderedIds:
    """Ids that increase with time, even if the clock stands still or is set back. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last = (0, 0)
        self._pool = b""
        self._process_id = 0

    def new(self, prefix: str, after: str | None = None) -> str:
        """A new id, greater than every earlier id of this object for the prefix, and greater than `after`."""
        floor = order_of(after) if after is not None else (0, 0)
        with self._lock:
            milliseconds, counter = self._last = _next(self._milliseconds(), max(self._last, floor))
            random = self._random()
        return compose(prefix, milliseconds, counter, random)

    def token(self) -> str:
        """128 random bits."""
        return secrets.token_hex(16)

    def _random(self) -> int:
        """Random bits of the system, requested for many ids at once, because each request may switch threads. A forked process
        requests new ones.
        """
        if len(self._pool) < _BYTES or self._process_id != os.getpid():
            self._pool, self._process_id = secrets.token_bytes(_AT_ONCE * _BYTES), os.getpid()
        own, self._pool = self._pool[:_BYTES], self._pool[_BYTES:]
        return int.from_bytes(own, "big") >> (8 * _BYTES - RANDOM_BITS)

    def _milliseconds(self) -> int:
        return int(self._clock.now().timestamp() * 1000)


def _next(now: int, last: tuple[int, int]) -> tuple[int, int]:
    """The smallest position after `last` that is not before `now`."""
    milliseconds, counter = last
    if now > milliseconds:
        return now, 0
    return (milliseconds, counter + 1) if counter < LAST_COUNTER else (milliseconds + 1, 0)
