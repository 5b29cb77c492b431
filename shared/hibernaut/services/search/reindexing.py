"""Building the index anew from the table, while others search and write.

The index is emptied and everything searchable gets a pointer again; whoever feeds the index does the rest. A mark in the table makes
searches say meanwhile that they may be incomplete. Stopped before everything was pointed to, it is begun again from the start: nothing is
doubled. Each building has a number, which its pointers bear: whoever has indexed a thing for an index that was emptied since takes away
an old pointer to it, never the new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from hibernaut.ports.memory_index import MemoryIndex
from hibernaut.ports.table import ConditionFailed
from hibernaut.schemas.search import Kind
from hibernaut.store.search_outbox import SEARCHED_ROLES, IndexBuild
from hibernaut.store.stores import Stores, TenantStores

TOGETHER = 50
"""Things that one pointer names."""
MOST_STANDING = 1000
"""Pointers that may stand while others write, when an index is found to be whole."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How many records were given a pointer, and of what: agents, archives and files done of all."""

    records: int
    places: int
    of: int


class TenantReindexing:
    """Points to everything searchable of one tenant, and says how far the index has come."""

    def __init__(self, stores: TenantStores) -> None:
        self._stores = stores

    def begin(self) -> IndexBuild:
        """Mark that the index is built anew. Two that begin at once get different numbers."""
        while True:
            before = self._stores.unindexed.building()
            after = IndexBuild(before.number + 1, "POINTS")
            try:
                self._change(before, after)
            except ConditionFailed:
                continue
            return after

    def point(self, build: IndexBuild) -> Iterator[Progress]:
        """Point to everything, place by place; then the index waits for what it was pointed to."""
        records, places = 0, list(self._places())
        for number, (kind, place) in enumerate(places, 1):
            records += self._point(kind, place, build.number)
            yield Progress(records, number, len(places))
        with suppress(ConditionFailed):  # somebody has begun again: the index waits for what he points to
            self._change(build, replace(build, stage="WAITS"))

    def broken_off(self) -> bool:
        """Whether an index was emptied and not everything was pointed to: by somebody who is at it now, or has died."""
        return self._stores.unindexed.building().stage == "POINTS"

    def left(self) -> int:
        """How many pointers the index still waits for."""
        return self._stores.unindexed.waiting()

    def end(self) -> bool:
        """Say that the index knows everything again, if it does; whether it does. Anyone may ask, also while others write."""
        build = self._stores.unindexed.building()
        if build.stage == "WAITS":
            standing = self._stores.unindexed.everywhere(MOST_STANDING)
            waited_for = [pointer for pointer in standing if pointer.state != "AGAIN"]  # of all these come last
            if len(waited_for) < MOST_STANDING and all(pointer.build != build.number for pointer in waited_for):
                with suppress(ConditionFailed):
                    self._change(build, replace(build, stage="OVER"))
        return self._stores.unindexed.building().stage == "OVER"

    def _change(self, before: IndexBuild, after: IndexBuild) -> None:
        self._stores.writer.write(self._stores.unindexed.rebuild(before, after))

    def _places(self) -> Iterator[tuple[Kind, str]]:
        for row in self._stores.agents.rows():
            yield "message", str(row["sk"])
        for archive_id in self._stores.passages.archives():
            yield "passage", archive_id
        for row in self._stores.folders.rows():
            yield "file", str(row["sk"])

    def _point(self, kind: Kind, place: str, build: int) -> int:
        count = 0
        for within, ids in self._named(kind, place):
            for some in _batches(ids):
                self._stores.writer.write(*self._stores.unindexed.again(place, kind, some, within=within, build=build))
                count += len(some)
        return count

    def _named(self, kind: Kind, place: str) -> Iterator[tuple[str, list[str]]]:
        """Where the records of a place lie, and the ids of those that are searched."""
        match kind:
            case "passage":
                yield place, self._stores.passages.ids(place)
            case "file":
                for row in self._stores.files.rows(place):
                    yield row.file_id, self._stores.passages.piece_ids(row.file_id)
            case "message":
                for log in self._logs(place):
                    roles = self._stores.conversations.logs.roles(log, (), None)
                    yield log, [row_id for row_id, role in roles if role in SEARCHED_ROLES]

    def _logs(self, agent_id: str) -> list[str]:
        """An agent's own log, those of its conversations, and what is left of deleted ones for their forks."""
        own = [agent_id, *self._stores.conversation_records.ids(agent_id)]
        heads = self._stores.conversations.heads(own).values()
        return list(dict.fromkeys([*own, *(one.conversation for head in heads for one in head.segments)]))


class Reindexing:
    """Rebuilds the index, which all tenants share, from the table."""

    def __init__(self, stores: Stores, index: MemoryIndex) -> None:
        self._stores = stores
        self._index = index

    def of(self, tenant: str) -> TenantReindexing:
        """The part of a tenant."""
        return TenantReindexing(self._stores.of(tenant))

    def begin(self, tenants: Sequence[str], told: Callable[[Progress], None]) -> int:
        """Empty the index, and point to everything; how many records that were. Raises: IndexAsleep."""
        parts = [self.of(tenant) for tenant in tenants]
        builds = [(part, part.begin()) for part in parts]
        for space in self._index.spaces():
            self._index.drop(space)
        records = 0
        for part, build in builds:
            before = records
            for progress in part.point(build):
                records = before + progress.records
                told(replace(progress, records=records))
        return records


def _batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), TOGETHER):
        yield ids[start : start + TOGETHER]
