"""Handles event work on threads of this process. Knows threads; `bind` provides the function that handles an item."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from hibernaut.ports.table import Key
from hibernaut.schemas.errors import place_of

WORKERS = 4
logger = logging.getLogger(__name__)


class EventThreads:
    """The `EventDelivery` of one process. `bind` sets the function that handles an item. `close` waits for running calls and drops queued work, which
    stays due in the table.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="events")
        self._handle: Callable[[Key], None] | None = None
        self._queued: set[Key] = set()
        self._lock = threading.Lock()

    def bind(self, handle: Callable[[Key], None]) -> None:
        self._handle = handle

    def start(self, places: Sequence[Key]) -> None:
        """Schedule the items that are not scheduled yet, and return at once; after `close` nothing is scheduled."""
        with self._lock:
            fresh = [place for place in places if place not in self._queued]
            self._queued |= set(fresh)
        try:
            for place in fresh:
                self._pool.submit(self._run, place)
        except RuntimeError:
            logger.info("events left to the next start", extra={"items": len(fresh)})

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _run(self, place: Key) -> None:
        with self._lock:
            self._queued.discard(place)
        try:
            if self._handle is not None:
                self._handle(place)
        except Exception as error:  # noqa: BLE001  the thread's outermost line: the sweep hands the item over again
            logger.error("event not passed on", extra={"place": place_of(error), "error": type(error).__name__})
