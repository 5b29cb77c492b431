"""Time limits of blocking work, all of which one thread watches: a timer of its own would start a thread for each model call."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hibernaut.schemas.errors import place_of

LOOK = 0.1
"""Seconds between two looks of the thread. A limit that has passed is noticed this much later at most."""
IDLE = 10.0
"""Seconds without a limit after which the thread ends; the next limit starts another."""
logger = logging.getLogger(__name__)


class Watchdog:
    """Aborts work that takes too long, from a daemon thread. Thread-safe."""

    def __init__(self, look: float = LOOK, idle: float = IDLE) -> None:
        self._look = look
        self._idle = idle
        self._lock = threading.Lock()
        self._aborts: dict[object, tuple[float, Callable[[], None]]] = {}
        self._watched = False

    @contextmanager
    def limit(self, seconds: float, abort: Callable[[], None]) -> Iterator[None]:
        """Call `abort` from the thread if the block takes longer than `seconds`. It may be called at the moment at which the
        block ends.
        """
        limit = object()
        with self._lock:
            if not self._watched:
                threading.Thread(target=self._watch, name="watchdog", daemon=True).start()
                self._watched = True
            self._aborts[limit] = (time.monotonic() + seconds, abort)
        try:
            yield
        finally:
            with self._lock:
                self._aborts.pop(limit, None)

    def _watch(self) -> None:
        used_at = time.monotonic()
        while True:
            time.sleep(self._look)
            now = time.monotonic()
            with self._lock:
                overdue = [limit for limit, (until, _) in self._aborts.items() if until <= now]
                aborts = [self._aborts.pop(limit)[1] for limit in overdue]
                used_at = now if self._aborts or aborts else used_at
                if now - used_at > self._idle:
                    self._watched = False
                    return
            for abort in aborts:
                try:
                    abort()
                except Exception as error:  # noqa: BLE001  the other limits need this thread
                    logger.error("abort failed", extra={"error": type(error).__qualname__, "place": place_of(error)})
