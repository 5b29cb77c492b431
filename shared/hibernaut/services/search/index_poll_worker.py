"""Feeds the index in the embedded profile: threads that consume the outbox of pointers. On AWS the function `index_memory` does
this.

New records are indexed first. Pointers that only lack vectors follow when the queue holds nothing else and no upload is being
stored. Texts that an embedder refused are retried at the start, and from time to time when the worker is idle. If the index is
asleep or the embedder is unreachable, the worker pauses and retries. Nothing is lost, because the pointers remain in the table.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Sequence

from hibernaut.ports.storage.table import Key
from hibernaut.schemas.errors import place_of
from hibernaut.services.per_tenant import PerTenant
from hibernaut.services.search.indexing import Indexing, by_tenant
from hibernaut.services.search.pointer_queue import PointerQueue
from hibernaut.store.memory.search_outbox import OutboxSignal, Pointer

WORKERS = 2
"""Number of threads. An embedder uses one core per thread."""
LOOK = 2.0
"""Seconds without a new pointer after which the table is scanned for pointers that did not reach the queue."""
GATHER = 0.1
"""Seconds for which new pointers are collected into a batch: a batch of a turn's messages costs little more than one message."""
REST = 5.0
"""Seconds of pause after a pointer could not be indexed."""
LOOKS_BEFORE_ASKING = 300
"""Idle polls (of `LOOK` seconds) before refused texts are retried: ten minutes."""
LESS_URGENT = 10
"""The nice value of the worker's threads (Linux)."""
logger = logging.getLogger(__name__)


class IndexPollWorker:
    """Threads that poll the outbox and feed the index in the embedded profile."""

    def __init__(
        self,
        outbox: OutboxSignal,
        indexing: PerTenant[Indexing],
        tenants: Callable[[], Sequence[str]],
        *,
        workers: int = WORKERS,
        look: float = LOOK,
        gather: float = GATHER,
        storing: Callable[[], bool] = lambda: False,
    ) -> None:
        """`tenants` returns the tenants whose pointers are indexed; each scan of the table calls it. `storing` returns whether
        uploads are being read and stored now. `look` and `gather`: seconds, as `LOOK` and `GATHER`.
        """
        self._indexing = indexing
        self._tenants = tenants
        self._look = look
        self._gather = gather
        self._storing = storing
        self._queue = PointerQueue(lambda: [indexing.of(tenant).search_outbox for tenant in tenants()])
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, args=[n == 0], name=f"index-{n}", daemon=True) for n in range(workers)
        ]
        outbox.listener = self._queue.hand

    def start(self) -> None:
        """Start the threads. Raises: RuntimeError at a second call, also after `close`."""
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Finish the current batches and join the threads. The next start indexes the remaining pointers."""
        self._stopping.set()
        self._queue.close()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def drain(self) -> bool:
        """Index all pending pointers on the caller's thread. False: a pointer could not be indexed."""
        self._queue.look(retry=True)
        while batch := self._next():
            if not self._take(batch):
                return False
        return True

    def _work(self, leads: bool) -> None:
        """The loop of one thread. The leading thread (`leads`) also scans the table when it is idle, and retries refused texts:
        first when it is idle after the start, then every `LOOKS_BEFORE_ASKING` idle polls.
        """
        _step_back()
        idle = asks_at = 0
        while not self._stopping.is_set():
            try:
                batch = self._next()
                if batch:
                    if not self._take(batch):
                        self._stopping.wait(REST)
                    continue
                if leads and idle >= asks_at:
                    self._ask_again()
                    asks_at = idle + (1 if self._queue.news else LOOKS_BEFORE_ASKING)
                if not self._queue.wait(self._look, self._gather) and leads:
                    idle += 1
                    self._queue.look()
            except Exception as error:  # noqa: BLE001  the thread ends here; unread work waits for the next attempt
                logger.error("index worker failed", extra={"error": type(error).__qualname__, "place": place_of(error)})
                self._stopping.wait(REST)

    def _ask_again(self) -> None:
        """Retry the texts that an embedder refused, until a new pointer arrives."""
        for tenant in self._tenants():
            self._indexing.of(tenant).ask_again(going=lambda: not self._queue.news)

    def _next(self) -> list[Pointer]:
        return self._queue.next(vectors=not self._storing())

    def _take(self, batch: Sequence[Pointer]) -> bool:
        """Index a batch; whether every pointer of it was indexed."""
        failed: Sequence[Key] = [pointer.key for pointer in batch]
        try:
            by_tenant_keys = by_tenant((pointer.key, {}) for pointer in batch)
            failed = [key for tenant, own in by_tenant_keys.items() for key in self._indexing.of(tenant).take(own).remaining]
        finally:
            self._queue.settle(batch, failed)
        return not failed


def _step_back() -> None:
    """Lower the priority of this thread below that of requests. Only Linux has a priority per thread."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LESS_URGENT)
