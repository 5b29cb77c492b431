"""Feeding the index within a worker's time, where the change stream tells what is new (at home `index_pump` follows the pointers).

What the stream has given up is taken again later: the index slept, nobody could embed, or a worker died. Whatever it was, the pointer is
in the table, and searches find what it names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from hibernaut.ports.clock import Clock
from hibernaut.ports.table import Item, Key
from hibernaut.schemas.ids import made_at
from hibernaut.services.per_tenant import PerTenant
from hibernaut.services.search.indexing import IndexedBatch, Indexing, by_tenant
from hibernaut.store.search_outbox import Pointer

MOST = 1000
"""Pointers of a tenant that are taken again in one go."""
TOGETHER = 5
"""Pointers between two looks at the time that is left."""
NEEDED_SECONDS = 90.0
"""What these may take, with texts to embed one by one."""
LEFT_TO_THE_STREAM = timedelta(minutes=5)
"""What is younger is told by the stream, which would do the same work beside us."""


class IndexStreamWorker:
    """Feeds the index from batches of the change stream, within a worker's time."""

    def __init__(self, indexing: PerTenant[Indexing], clock: Clock) -> None:
        self._indexing = indexing
        self._clock = clock

    def take(self, told: Iterable[tuple[Key, Item | None]], *, time_left: Callable[[], float]) -> IndexedBatch:
        """Index what these items of the stream point to, as long as there is time (in seconds) and the index does not sleep."""
        pointers = by_tenant(told)
        waiting = [(whose, own[at : at + TOGETHER]) for whose, own in pointers.items() for at in range(0, len(own), TOGETHER)]
        done, left, asleep = 0, list[Key](), False
        while waiting and not asleep and time_left() >= NEEDED_SECONDS:
            (tenant, some), *waiting = waiting
            taken = self._indexing.of(tenant).take(some)
            done, asleep = done + taken.done, taken.asleep
            left += taken.left
        left += [key for _, some in waiting for key, _ in some]
        return IndexedBatch(done, tuple(left), asleep)

    def take_again(self, tenant: str, *, time_left: Callable[[], float]) -> IndexedBatch:
        """The same for pointers of a tenant that stand in the table since long; then what was refused is asked for again."""
        now = self._clock.now()
        indexing = self._indexing.of(tenant)
        found = indexing.unindexed.everywhere(MOST)
        standing = [pointer.key for pointer in found if pointer.state != "AGAIN" and not _young(pointer, now)]
        taken = self.take([(key, {}) for key in standing], time_left=time_left)
        if not taken.asleep:
            indexing.ask_again(going=lambda: time_left() >= NEEDED_SECONDS)
        return taken


def _young(pointer: Pointer, now: datetime) -> bool:
    """By the time in the first id that it names. An id that was not made here has none: then it is not young."""
    try:
        age = now - made_at(pointer.ids[0])
    except (ValueError, OverflowError, OSError):
        return False
    return timedelta() <= age < LEFT_TO_THE_STREAM
