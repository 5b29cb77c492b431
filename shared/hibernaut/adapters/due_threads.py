"""Handles items of the due index on threads of this process. Knows threads; `bind` provides the function that handles an item.

What fails stays due in the table, and the sweep hands it over again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from hibernaut.ports.storage.table import Key
from hibernaut.schemas.errors import place_of

logger = logging.getLogger(__name__)


class DueThreads:
    """A pool of `workers` threads, in which an item waits at most once. `name`: the name of the threads, and of the items in the
    log.
    `failed`: the log message for an item that could not be handled. `close` waits for what is being handled and drops the rest.
    """

    def __init__(self, name: str, workers: int, failed: str) -> None:
        self._name, self._failed = name, failed
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix=name)
        self._handle: Callable[[Key], object] | None = None
        self._queued: set[Key] = set()
        self._lock = threading.Lock()

    def bind(self, handle: Callable[[Key], object]) -> None:
        """Set the function that handles an item. Called before the first `start`."""
        self._handle = handle

    def start(self, places: Sequence[Key]) -> None:
        """Schedule the items that do not wait yet, and return at once; after `close` nothing is scheduled."""
        with self._lock:
            fresh = [place for place in dict.fromkeys(places) if place not in self._queued]
            self._queued |= set(fresh)
        try:
            for place in fresh:
                self._pool.submit(self._run, place)
        except RuntimeError:
            logger.info(f"{self._name} left to the next start", extra={"items": len(fresh)})

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _run(self, place: Key) -> None:
        with self._lock:
            self._queued.discard(place)
        try:
            if self._handle is not None:
                self._handle(place)
        except Exception as error:  # noqa: BLE001  the thread's outermost line: the sweep hands the item over again
            logger.error(self._failed, extra={"place": place_of(error), "error": type(error).__name__})
