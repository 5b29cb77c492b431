"""The outbox for an index that shows writes late (`MemoryIndex.visible_after`).

A pointer to such records is not removed when they are written. It is marked with the time, and with the names of the copies of
the index. Searches read its records from the table until every search of the index finds them; then the pointer goes, or changes
to its next state. A pointer is written to the index once, however often the change stream delivers it.
"""

from __future__ import annotations

from collections.abc import Mapping

from hibernaut.domain.search.index_documents import name_of
from hibernaut.ports.clock import Clock
from hibernaut.ports.memory.memory_index import MemoryIndex
from hibernaut.ports.storage.table import Change
from hibernaut.store.memory.search_outbox import NO_COPY, NextState, Pointer, SearchOutbox

COLLECT_EVERY_MS = 24 * 3600 * 1000
"""A worker that ends between its write and its mark leaves a double. Readers drop it, so there is no haste."""


class LateVisibility:
    """Marks the pointers of one tenant, and takes up the marked ones when their time has come."""

    def __init__(self, outbox: SearchOutbox, index: MemoryIndex, clock: Clock) -> None:
        self._outbox = outbox
        self._index = index
        self._clock = clock

    @property
    def late(self) -> bool:
        """Whether the index shows late what was written."""
        return self._index.visible_after > 0

    def pending(self, pointer: Pointer) -> bool:
        """Whether the pointer's records are written, and a search may not find them yet."""
        return bool(pointer.written) and not self.due(pointer)

    def due(self, pointer: Pointer) -> bool:
        """Whether the pointer's records are written, and every search finds them."""
        return bool(pointer.written) and self._now() - pointer.written >= self._index.visible_after * 1000

    def mark(self, pointer: Pointer, space: str, copies: Mapping[str, str], following: NextState) -> list[Change]:
        """The change that records the write. `copies`: the copy of each document. `following`: the pointer's next state."""
        names = tuple(copies.get(name_of(pointer.within, record_id), NO_COPY) for record_id in pointer.ids)
        return [self._outbox.written(pointer, self._now(), space=space, copies=names, following=following)]

    def settle(self, pointer: Pointer) -> list[Change]:
        """The changes that end the wait of a due pointer. Discards the copies that its own have replaced. Raises: IndexAsleep."""
        self._index.discard(pointer.space, [name for name in pointer.replaced if name != NO_COPY])
        return self._outbox.settled(pointer)

    def collecting_due(self) -> bool:
        """Whether the doubles of the index were not collected for a day."""
        return self.late and self._now() - self._outbox.doubles_collected() >= COLLECT_EVERY_MS

    def collected(self) -> Change:
        """The change that records that they are."""
        return self._outbox.collected_doubles(self._now())

    def _now(self) -> int:
        return int(self._clock.now().timestamp() * 1000)
