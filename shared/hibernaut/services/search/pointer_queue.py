"""The queue between the writers of one process and its index workers. It holds the pointers that this process has written.

The table holds every pointer; the queue is a bounded copy that saves reads. The workers scan the table at the start, after an
overflow of the queue, after a failure, when nothing was written for a while, and once in `BATCHES_BEFORE_LOOK` batches. Must not
know: how pointers are indexed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from hibernaut.ports.storage.table import Key
from hibernaut.store.memory.search_outbox import Pointer, SearchOutbox

PAGE = 64
"""The largest number of pointers that one scan of the table returns, in addition to those that are set aside."""
MOST_WAITING = 1_000
"""Capacity of the queue, in pointers. On overflow the queue is cleared and the table is scanned, newest first."""
MOST_SET_ASIDE = 1_000
"""The largest number of failed pointers that are remembered. They are retried after all others."""
RECORDS_TOGETHER = 32
"""The largest number of records that the pointers of one batch name together. A pointer that names more forms its own batch."""
BATCHES_BEFORE_LOOK = 200
"""Batches between two scans while writers never pause. A scan finds the pointers of writes whose success the writer did not
learn."""


class PointerQueue:
    """A priority queue of pointers: NEW first (the newest first), then GONE, then EMBED (only vectors are missing).

    Thread-safe. A pointer is in one batch at a time. A pointer that could not be indexed goes behind all others and then forms
    its own batch, so that it cannot fail others again.
    """

    def __init__(self, outboxes: Callable[[], Sequence[SearchOutbox]]) -> None:
        """`outboxes` returns one outbox for each tenant; each scan calls it."""
        self._outboxes = outboxes
        self._changed = threading.Condition()
        self._waiting: dict[Key, Pointer] = {}
        self._taken: set[Key] = set()
        self._aside: set[Key] = set()
        self._failed: set[Key] = set()
        self._look = True
        self._news = False
        self._gathering = False
        self._backlog = False
        self._closed = False
        self._batches = 0

    @property
    def news(self) -> bool:
        """Whether pointers have arrived that no call of `wait` has reported yet."""
        return self._news

    def hand(self, pointers: Sequence[Pointer]) -> None:
        """Add pointers that were written. Does not access the table."""
        with self._changed:
            self._add(pointers)
            if len(self._waiting) > MOST_WAITING:
                self._waiting.clear()
                self._look = True
            self._wake()

    def close(self) -> None:
        """Release the threads in `wait`; later calls of `wait` return at once."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def look(self, *, retry: bool = False) -> None:
        """Schedule a scan of the table for when the queue is empty. `retry`: retry also the pointers that are set aside."""
        with self._changed:
            self._look = True
            if retry:
                self._aside.clear()

    def wait(self, seconds: float, gather: float) -> bool:
        """Block until pointers arrive, at most `seconds`, then `gather` seconds longer: pointers written together form one batch.

        One thread collects while the others stay blocked. With a backlog there is no collection time. False: no pointer arrived.
        """
        with self._changed:
            # Another thread may have taken the news between the notice and this thread's turn: then it waits on.
            self._changed.wait_for(lambda: self._news or self._closed, seconds)
            came, self._news = self._news, False
            if came and not (self._closed or self._backlog):
                self._gathering = True
                self._changed.wait_for(lambda: self._closed, gather)
                self._gathering = False
            return came

    def next(self, *, vectors: bool) -> list[Pointer]:
        """The next batch, which no other thread has; the caller ends it with `settle`. `vectors`: include EMBED pointers, one at
        a time.

        Empty: nothing is pending, or another thread collects it; the next call retries the pointers that are set aside. Raises:
        what reading the table raises (StoreUnavailable, TableError); the scan stays scheduled.
        """
        with self._changed:
            if self._gathering and not (self._look or self._backlog):
                return []
            batch = self._batch(vectors)
            if batch or not self._look:
                return batch
            self._look, most = False, PAGE + len(self._aside)
        try:
            found = [pointer for outbox in self._outboxes() for pointer in outbox.everywhere(most)]
        except BaseException:  # whatever stops the scan, it is still due
            self.look()
            raise
        with self._changed:
            self._add([pointer for pointer in found if pointer.key not in self._taken | self._aside])
            more = len(found) >= most and all(pointer.state != "AGAIN" for pointer in found)  # AGAIN sorts last
            self._look = self._look or more or bool(self._aside)
            batch = self._batch(vectors)
            if not batch:
                self._aside.clear()
            return batch

    def settle(self, batch: Sequence[Pointer], failed: Sequence[Key]) -> None:
        """End a batch. The pointers in `failed` are set aside; the others are done."""
        with self._changed:
            for pointer in batch:
                self._taken.discard(pointer.key)
                self._failed.discard(pointer.key)
            for keys_of_state in (self._aside, self._failed):
                if len(keys_of_state) + len(failed) > MOST_SET_ASIDE:
                    keys_of_state.clear()
                keys_of_state.update(failed)
            self._batches += 1
            self._look = self._look or bool(failed) or self._batches % BATCHES_BEFORE_LOOK == 0

    def _add(self, pointers: Sequence[Pointer]) -> None:
        """Add pointers to the queue, without those in the state AGAIN: the worker retries refused texts by itself."""
        self._waiting.update((pointer.key, pointer) for pointer in pointers if pointer.state != "AGAIN")

    def _batch(self, vectors: bool) -> list[Pointer]:
        free = sorted((key for key in self._waiting if key not in self._taken | self._aside), key=_urgency, reverse=True)
        batch: list[Pointer] = []
        records = 0
        for key in free:
            pointer = self._waiting[key]
            own_batch = pointer.state == "EMBED" or key in self._failed
            records += len(pointer.ids)
            if batch and (own_batch or records > RECORDS_TOGETHER):
                break
            if pointer.state == "EMBED" and not vectors:
                break
            batch.append(pointer)
            if own_batch:
                break
        for pointer in batch:
            del self._waiting[pointer.key]
            self._taken.add(pointer.key)
        self._backlog = 0 < len(batch) < len(free)
        if self._backlog:
            self._wake()
        return batch

    def _wake(self) -> None:
        """Wake one thread, unless a thread collects: that thread takes the new pointers too."""
        if not self._gathering and self._waiting:
            self._news = True
            self._changed.notify()


def _urgency(key: Key) -> str:
    """The sort key: state and first id of the pointer. NEW sorts after GONE, and GONE after EMBED."""
    return key.sk
