"""Feeding the index at home: threads that follow the pointers as they are written. On AWS the change stream does this (`index_memory`).

New things go first, by words; what only waits for vectors goes when nothing else does, and not beside uploads that are being stored. What
an embedder has refused is asked for again at the start, and from time to time when there is nothing to do. Where the index sleeps, or nobody can embed now,
the pump rests and tries again: nothing is lost, because the pointers stand in the table.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Sequence

from hibernaut.ports.table import Key
from hibernaut.schemas.errors import place_of
from hibernaut.services.search.indexing import Indexing
from hibernaut.store.search_outbox import Pointer, SearchOutbox

WORKERS = 2
"""Threads: an embedder uses one core each."""
PAGE = 64
"""Pointers that are looked up at once."""
LOOK = 2.0
"""Seconds after which the pump looks by itself: for what was written before it began to listen."""
MOST_SET_ASIDE = 1_000
"""Pointers that could not be indexed which it passes over, until nothing else is left."""
REST = 5.0
"""Seconds that it rests when something could not be indexed."""
LOOKS_BEFORE_ASKING = 300
"""Looks at which there was nothing to do, before what was refused is asked for again: ten minutes."""
LESS_URGENT = 10
"""The niceness of the pump's threads."""
logger = logging.getLogger(__name__)


class IndexPollWorker:
    """Threads that poll the outbox and feed the index at home."""

    def __init__(
        self,
        unindexed: SearchOutbox,
        indexing: Indexing,
        tenants: Sequence[str],
        *,
        workers: int = WORKERS,
        look: float = LOOK,
        storing: Callable[[], bool] = lambda: False,
    ) -> None:
        """`storing`: whether uploads are being read and stored now."""
        self._unindexed = unindexed
        self._indexing = indexing
        self._tenants = tenants
        self._look = look
        self._storing = storing
        self._lock = threading.Lock()
        self._waiting: list[Pointer] = []
        self._taken: set[Key] = set()
        self._aside: set[Key] = set()
        self._told = threading.Event()
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, args=[n == 0], name=f"index-{n}", daemon=True) for n in range(workers)
        ]
        unindexed.told = self._told.set

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Finish what is at hand; what is left is taken up at the next start."""
        self._stopping.set()
        self._told.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def drain(self) -> bool:
        """Take all that stands there now, on the caller's thread. False: something could not be indexed."""
        well = True
        self._aside.clear()
        while (pointer := self._next()) is not None:
            well = self._take(pointer) and well
            if not well:
                break
        return well

    def _work(self, asks: bool) -> None:
        """`asks`: this thread asks again for what was refused, as soon as there is nothing else, and then from time to time."""
        _step_back()
        idle = 0
        while not self._stopping.is_set():
            self._told.clear()
            try:
                pointer = self._next()
                if pointer is None:
                    if asks and idle % LOOKS_BEFORE_ASKING == 0:
                        self._ask_again()
                    idle += not self._told.wait(self._look)
                elif not self._take(pointer):
                    self._stopping.wait(REST)
            except Exception as error:  # noqa: BLE001  the thread ends here; what it could not read waits for the next try
                logger.error("index pump failed", extra={"error": type(error).__qualname__, "place": place_of(error)})
                self._stopping.wait(REST)

    def _ask_again(self) -> None:
        """Embed what was refused, if nobody refuses any more, until there is something new."""
        for tenant in self._tenants:
            self._indexing.ask_again(tenant, going=lambda: not self._told.is_set())

    def _next(self) -> Pointer | None:
        """One pointer that nobody else here is at; what could not be indexed stands behind all others."""
        with self._lock:
            if not self._waiting:
                most = PAGE + len(self._aside)
                found = [each for tenant in self._tenants for each in self._unindexed.everywhere(tenant, most)]
                free = [each for each in found if each.key not in self._taken | self._aside and each.state != "AGAIN"]
                urgent = [each for each in reversed(free) if each.state != "EMBED"]
                waits = [] if self._storing() else free[:1]
                self._waiting = urgent or waits  # after each that only waits for vectors, what is new is looked for again
            if not self._waiting:
                self._aside.clear()
                return None
            pointer = self._waiting.pop()
            self._taken.add(pointer.key)
            return pointer

    def _take(self, pointer: Pointer) -> bool:
        well = False
        try:
            well = not self._indexing.take([(pointer.key, {})]).left
        finally:
            with self._lock:
                self._taken.discard(pointer.key)
                if not well:
                    self._set_aside(pointer.key)
        return well

    def _set_aside(self, key: Key) -> None:
        """What else there is comes first, and is looked up anew: an archive whose model is out of reach keeps nothing else waiting."""
        self._waiting.clear()
        if len(self._aside) >= MOST_SET_ASIDE:
            self._aside.clear()
        self._aside.add(key)


def _step_back() -> None:
    """Requests go before this thread, where the system can tell threads apart (Linux)."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LESS_URGENT)
