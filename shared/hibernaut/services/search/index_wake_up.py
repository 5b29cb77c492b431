"""Wakes a sleeping index before its first query: a request is sent ahead when a run begins whose agent can search.

The first answer of a sleeping collection takes 10 to 30 seconds, and a model's first answer takes a few, so the tool call that
follows finds it awake, or nearly. Until then searches go by words in the table. The request has a thread of its own: nothing
waits for it, and nothing fails by it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection

from hibernaut.ports.clock import Clock
from hibernaut.ports.memory.memory_index import IndexAsleep, MemoryIndex

SEARCHING = frozenset({"archival_memory_search", "conversation_search", "semantic_search_files"})
"""The built-in tools that search the index."""
STAYS_AWAKE = 300.0
"""Seconds after which a process sends the next request. A collection falls asleep after ten idle minutes."""
logger = logging.getLogger(__name__)


def in_background(work: Callable[[], None]) -> None:
    """Do it on a thread that keeps no process alive."""
    threading.Thread(target=work, name="index-wake-up", daemon=True).start()


class IndexWakeUp:
    """The requests of one process, for all tenants: one at a time, and one in `STAYS_AWAKE` seconds. `index` None: there is
    none.
    """

    def __init__(
        self, index: MemoryIndex | None, clock: Clock, *, start: Callable[[Callable[[], None]], None] = in_background
    ) -> None:
        self._index = index if index is not None and index.visible_after > 0 else None
        self._clock = clock
        self._start = start
        self._turn = threading.Lock()
        self._sent_at: float | None = None
        self._under_way = False

    def run_begins(self, tools: Collection[str]) -> None:
        """Send the request, if the agent has a tool that searches and none was sent lately. Does not wait."""
        index = self._index
        if index is None or SEARCHING.isdisjoint(tools):
            return
        now = self._clock.monotonic()
        with self._turn:
            if self._under_way or (self._sent_at is not None and now - self._sent_at < STAYS_AWAKE):
                return
            self._under_way, self._sent_at = True, now
        self._start(lambda: self._wake(index))

    def _wake(self, index: MemoryIndex) -> None:
        try:
            index.wake()
        except IndexAsleep as error:
            logger.info("memory index does not wake yet", extra={"reason": type(error).__name__})
            with self._turn:
                self._sent_at = None  # the next run tries again
        finally:
            with self._turn:
                self._under_way = False
