"""The queue between the writers of one process and its index workers: pointers that were written here, without a look at the table.

The table keeps every pointer; the queue is a bounded copy that saves reading it. The table is scanned at the start, when the queue has
overflowed, after a failure, when nothing was written for a while, and once in `BATCHES_BEFORE_LOOK` batches.
Must not know: how pointers are indexed.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from hibernaut.ports.table import Key
from hibernaut.store.search_outbox import Pointer, SearchOutbox

PAGE = 64
"""Pointers that one scan of the table finds at most, besides those that were set aside."""
MOST_WAITING = 1_000
"""Pointers in the queue. When more are handed over, the queue is emptied and the table is scanned, the newest first."""
MOST_SET_ASIDE = 1_000
"""Pointers that could not be indexed and stand behind all others."""
RECORDS_TOGETHER = 32
"""Records that the pointers of one batch name together. A pointer that names more is a batch of its own."""
BATCHES_BEFORE_LOOK = 200
"""Batches after which the table is scanned although writers never pause: for pointers whose writer did not hear that it had succeeded."""


class PointerQueue:
    """The pointers that are indexed next: new ones first (the newest first), then what is gone, then what waits for vectors.

    Thread-safe. A pointer is in one batch at a time. A pointer that could not be indexed stands behind all others, and is then a
    batch of its own, so that it cannot fail others again.
    """

    def __init__(self, outboxes: Sequence[SearchOutbox]) -> None:
        """`outboxes`: one for each tenant."""
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
        """Whether pointers were handed over that nobody has waited for yet."""
        return self._news

    def hand(self, pointers: Sequence[Pointer]) -> None:
        """Add pointers that were written; never waits for the table."""
        with self._changed:
            self._add(pointers)
            if len(self._waiting) > MOST_WAITING:
                self._waiting.clear()
                self._look = True
            self._wake()

    def close(self) -> None:
        """`wait` returns at once from now on."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def look(self, *, again: bool = False) -> None:
        """Scan the table as soon as nothing is left here. `again`: try also what was set aside."""
        with self._changed:
            self._look = True
            if again:
                self._aside.clear()

    def wait(self, seconds: float, gather: float) -> bool:
        """Until pointers are handed over, and `gather` seconds longer, so that what is written together is one batch.

        One thread gathers; the others wait on. A backlog is not gathered. False: nothing was handed over in this time.
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
        """A batch that no other thread has; `settle` ends it. `vectors`: whether what only waits for vectors is taken, one at a time.

        Empty: nothing is left, or another thread gathers it. What was set aside is tried again the next time.
        """
        with self._changed:
            if self._gathering and not (self._look or self._backlog):
                return []
            batch = self._batch(vectors)
            if batch or not self._look:
                return batch
            self._look, most = False, PAGE + len(self._aside)
        try:
            found = [pointer for outbox in self._outboxes for pointer in outbox.everywhere(most)]
        except BaseException:
            self.look()
            raise
        with self._changed:
            self._add([pointer for pointer in found if pointer.key not in self._taken | self._aside])
            more = len(found) >= most and all(pointer.state != "AGAIN" for pointer in found)  # of all these come last
            self._look = self._look or more or bool(self._aside)
            batch = self._batch(vectors)
            if not batch:
                self._aside.clear()
            return batch

    def settle(self, batch: Sequence[Pointer], failed: Sequence[Key]) -> None:
        """The batch is done with, but for those that `failed`."""
        with self._changed:
            for pointer in batch:
                self._taken.discard(pointer.key)
                self._failed.discard(pointer.key)
            for known in (self._aside, self._failed):
                if len(known) + len(failed) > MOST_SET_ASIDE:
                    known.clear()
                known.update(failed)
            self._batches += 1
            self._look = self._look or bool(failed) or self._batches % BATCHES_BEFORE_LOOK == 0

    def _add(self, pointers: Sequence[Pointer]) -> None:
        """What was refused (AGAIN) is not for the queue: it is asked for again now and then."""
        self._waiting.update((pointer.key, pointer) for pointer in pointers if pointer.state != "AGAIN")

    def _batch(self, vectors: bool) -> list[Pointer]:
        free = sorted((key for key in self._waiting if key not in self._taken | self._aside), key=_urgency, reverse=True)
        batch: list[Pointer] = []
        records = 0
        for key in free:
            pointer = self._waiting[key]
            alone = pointer.state == "EMBED" or key in self._failed
            records += len(pointer.ids)
            if batch and (alone or records > RECORDS_TOGETHER):
                break
            if pointer.state == "EMBED" and not vectors:
                break
            batch.append(pointer)
            if alone:
                break
        for pointer in batch:
            del self._waiting[pointer.key]
            self._taken.add(pointer.key)
        self._backlog = 0 < len(batch) < len(free)
        if self._backlog:
            self._wake()
        return batch

    def _wake(self) -> None:
        """One thread, unless one gathers: it takes what there is when it is done."""
        if not self._gathering and self._waiting:
            self._news = True
            self._changed.notify()


def _urgency(key: Key) -> str:
    """The state and the first id that a pointer names: NEW is greater than GONE, GONE than EMBED."""
    return key.sk
