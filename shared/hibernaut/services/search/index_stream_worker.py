"""Feeds the index from the change stream, within the time limit of a worker. `index_poll_worker` does this in the embedded
profile.

A scheduled pass retries the pointers that the stream has dropped: the index was unavailable, no embedder answered, or a worker
died. Until then the pointer stands in the table, and searches find the records that it names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.table import Item, Key
from hibernaut.schemas.ids import creation_time
from hibernaut.services.per_tenant import PerTenant
from hibernaut.services.search.indexing import IndexedBatch, Indexing, by_tenant
from hibernaut.store.memory.search_outbox import Pointer

MOST = 1000
"""The largest number of a tenant's pointers in one retry pass."""
TOGETHER = 5
"""Pointers that are indexed between two checks of the time left."""
NEEDED_SECONDS = 90.0
"""The longest time that `TOGETHER` pointers may take, when the texts are embedded one by one."""
LEFT_TO_THE_STREAM = timedelta(minutes=5)
"""The retry pass skips younger pointers: the stream still delivers them, and both would do the same work."""


class IndexStreamWorker:
    """Feeds the index from batches of the change stream, within a worker's time."""

    def __init__(self, indexing: PerTenant[Indexing], clock: Clock) -> None:
        self._indexing = indexing
        self._clock = clock

    def take(self, items: Iterable[tuple[Key, Item | None]], *, time_left: Callable[[], float]) -> IndexedBatch:
        """Index the records that these stream items point to, until the time left (in seconds) is too short or the index is
        asleep.
        """
        pointers = by_tenant(items)
        batches = [
            (tenant_name, own[start : start + TOGETHER])
            for tenant_name, own in pointers.items()
            for start in range(0, len(own), TOGETHER)
        ]
        indexed, remaining, is_asleep = 0, list[Key](), False
        while batches and not is_asleep and time_left() >= NEEDED_SECONDS:
            (tenant, batch), *batches = batches
            result = self._indexing.of(tenant).take(batch)
            indexed, is_asleep = indexed + result.done, result.asleep
            remaining += result.remaining
        remaining += [key for _, batch in batches for key, _ in batch]
        return IndexedBatch(indexed, tuple(remaining), is_asleep)

    def take_all_again(self, tenants: Sequence[str], *, time_left: Callable[[], float]) -> IndexedBatch:
        """Call `take_again` for one tenant after the other, until the index does not answer."""
        total = IndexedBatch(0)
        for tenant in tenants:
            result = self.take_again(tenant, time_left=time_left)
            oldest_ms = max(total.oldest_ms, result.oldest_ms)
            total = IndexedBatch(total.done + result.done, total.remaining + result.remaining, result.asleep, oldest_ms)
            if result.asleep:
                break
        return total

    def take_again(self, tenant: str, *, time_left: Callable[[], float]) -> IndexedBatch:
        """Index the tenant's old pointers that still stand in the table; then retry the texts that an embedder refused. Doubles
        of documents are collected while the index is awake anyway.
        """
        now = self._clock.now()
        indexing = self._indexing.of(tenant)
        found = indexing.search_outbox.everywhere(MOST)
        pointers = {one.key: one for one in found if one.state != "AGAIN" and (one.written or not _young(one, now))}
        result = self.take([(key, {}) for key in pointers], time_left=time_left)
        if not result.asleep:
            indexing.ask_again(going=lambda: time_left() >= NEEDED_SECONDS)
            if result.done and time_left() >= NEEDED_SECONDS:
                indexing.collect_doubles()
        oldest = max((_wait(pointers[key], now) for key in result.remaining), default=timedelta())
        return replace(result, oldest_ms=max(0, oldest // timedelta(milliseconds=1)))


def _young(pointer: Pointer, now: datetime) -> bool:
    """Whether the first id that the pointer names is younger than the limit. An id without a time (foreign ids) counts as old."""
    age = _age(pointer, now)
    return age is not None and timedelta() <= age < LEFT_TO_THE_STREAM


def _wait(pointer: Pointer, now: datetime) -> timedelta:
    """For how long a new record waits for the index; 0 for other pointers, which may name records of any age."""
    age = _age(pointer, now) if pointer.state == "NEW" and not pointer.build else None
    return age or timedelta()


def _age(pointer: Pointer, now: datetime) -> timedelta | None:
    """The age of the first record that the pointer names; None for an id without a time."""
    try:
        return now - creation_time(pointer.ids[0])
    except (ValueError, OverflowError, OSError):
        return None
