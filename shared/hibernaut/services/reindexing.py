"""Building the index anew from the table, while others search and write.

The index is emptied and everything searchable gets a pointer again; whoever feeds the index does the rest. A mark in the table makes
searches say meanwhile that they may be incomplete. Stopped in the middle, it is begun again from the start: nothing is doubled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hibernaut.ports.memory_index import MemoryIndex
from hibernaut.ports.table import Change
from hibernaut.schemas.search import Kind
from hibernaut.store.logs import Span
from hibernaut.store.stores import Stores

TOGETHER = 50
"""Things that one pointer names."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How many records were given a pointer, and of what: agents, archives and files done of all."""

    records: int
    places: int
    of: int


class Reindexing:
    def __init__(self, stores: Stores, index: MemoryIndex) -> None:
        self._stores = stores
        self._index = index

    def begin(self, tenants: Sequence[str], told: Callable[[Progress], None]) -> int:
        """Empty the index, and point to everything; how many records that were. Raises: IndexAsleep."""
        for tenant in tenants:
            self._stores.writer.write(self._stores.unindexed.rebuild(tenant, over=False))
        for space in self._index.spaces():
            self._index.drop(space)
        records = 0
        for tenant in tenants:
            places = list(self._places(tenant))
            for number, (kind, place) in enumerate(places, 1):
                records += self._point(tenant, kind, place)
                told(Progress(records, number, len(places)))
        return records

    def left(self, tenant: str, most: int = 10_000) -> int:
        """How many pointers the index still waits for; at most `most` are counted."""
        return len(self._stores.unindexed.everywhere(tenant, most))

    def end(self, tenant: str) -> None:
        """Say that the index knows everything again."""
        self._stores.writer.write(self._stores.unindexed.rebuild(tenant, over=True))

    def _places(self, tenant: str) -> Iterator[tuple[Kind, str]]:
        for row in self._stores.agents.rows(tenant):
            yield "message", str(row["sk"])
        for archive_id in self._stores.passages.archives(tenant):
            yield "passage", archive_id

    def _point(self, tenant: str, kind: Kind, place: str) -> int:
        count = 0
        for within, ids in self._named(tenant, kind, place):
            for some in _batches(ids):
                changes: list[Change] = list(self._stores.unindexed.pointer(tenant, place, kind, some, within=within))
                self._stores.writer.write(*changes)
                count += len(some)
        return count

    def _named(self, tenant: str, kind: Kind, place: str) -> Iterator[tuple[str, list[str]]]:
        """Where the records of a place lie, and their ids."""
        if kind == "passage":
            yield place, self._stores.passages.ids(tenant, place)
            return
        for log in [place, *self._stores.conversation_records.ids(tenant, place)]:
            yield log, [row.id for row in self._stores.conversations.logs.rows(tenant, log, (), Span())]


def _batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), TOGETHER):
        yield ids[start : start + TOGETHER]
