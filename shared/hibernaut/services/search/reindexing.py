"""Rebuilds the index from the table while clients search and write.

A rebuild empties the index and writes a pointer to every searchable record; the index workers do the rest. A record in the table
(`IndexBuild`) makes searches report in the meantime that they may be incomplete. A rebuild that stops before every pointer is
written starts again from the beginning; no record is indexed twice. Each rebuild has a number, and its pointers bear that
number: a worker that has indexed a record for the emptied index removes the old pointer to it, never the new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from hibernaut.ports.memory.memory_index import MemoryIndex
from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.search_index import Kind
from hibernaut.store.memory.search_outbox import SEARCHED_ROLES, IndexBuild
from hibernaut.store.stores import Stores, TenantStores
from hibernaut.store.table.lists.logs import LogEnd

TOGETHER = 50
"""Records that one pointer names."""
MOST_STANDING = 1000
"""A rebuild is complete only if fewer pointers than this are pending; clients may write meanwhile."""


@immutable
class Progress:
    """`records`: records that have a pointer. `places` of `of`: agents, archives and folders that are done, of all."""

    records: int
    places: int
    of: int


class TenantReindexing:
    """The part of a rebuild that concerns one tenant: writes the pointers and reports the progress."""

    def __init__(self, stores: TenantStores) -> None:
        self._stores = stores

    def begin(self) -> IndexBuild:
        """Start a rebuild and record it in the table. Two rebuilds that start at the same time get different numbers."""
        while True:
            before = self._stores.search_outbox.building()
            after = IndexBuild(before.number + 1, "POINTS")
            try:
                self._change(before, after)
            except ConditionFailed:
                continue
            return after

    def point(self, build: IndexBuild) -> Iterator[Progress]:
        """Write the pointers, one place after another, then set the stage to WAITS: the rebuild waits for the index workers."""
        records, places = 0, list(self._places())
        for number, (kind, place) in enumerate(places, 1):
            records += self._point(kind, place, build.number)
            yield Progress(records, number, len(places))
        with suppress(ConditionFailed):  # another process has started a newer rebuild, which sets its own stage
            self._change(build, replace(build, stage="WAITS"))

    def broken_off(self) -> bool:
        """Whether a rebuild has emptied the index and not written all its pointers. It may still run, or its process has died."""
        return self._stores.search_outbox.building().stage == "POINTS"

    def remaining(self) -> int:
        """Number of pointers that the index workers have still to process."""
        return self._stores.search_outbox.waiting()

    def end(self) -> bool:
        """Set the stage to OVER if no pointer of the rebuild is pending. True: no rebuild is under way. Safe while clients
        write.
        """
        build = self._stores.search_outbox.building()
        if build.stage == "WAITS":
            pointers = self._stores.search_outbox.everywhere(MOST_STANDING)
            pending = [pointer for pointer in pointers if pointer.state != "AGAIN"]  # AGAIN sorts last
            if len(pending) < MOST_STANDING and all(pointer.build != build.number for pointer in pending):
                with suppress(ConditionFailed):
                    self._change(build, replace(build, stage="OVER"))
        return self._stores.search_outbox.building().stage == "OVER"

    def _change(self, before: IndexBuild, after: IndexBuild) -> None:
        self._stores.writer.write(self._stores.search_outbox.rebuild(before, after))

    def _places(self) -> Iterator[tuple[Kind, str]]:
        for row in self._stores.agents.rows():
            yield "message", str(row["sk"])
        for archive_id in self._stores.passages.archives():
            yield "passage", archive_id
        for row in self._stores.folders.rows():
            yield "file", str(row["sk"])

    def _point(self, kind: Kind, place: str, build: int) -> int:
        count = 0
        for container, ids in self._searchable_ids(kind, place):
            for batch in _batches(ids):
                self._stores.writer.write(*self._stores.search_outbox.again(place, kind, batch, within=container, build=build))
                count += len(batch)
        return count

    def _searchable_ids(self, kind: Kind, place: str) -> Iterator[tuple[str, list[str]]]:
        """The logs, archive or files of a place, each with the ids of its searchable records."""
        match kind:
            case "passage":
                yield place, self._stores.passages.ids(place)
            case "file":
                for row in self._stores.files.rows(place):
                    yield row.file_id, self._stores.passages.piece_ids([row.file_id])[0]
            case "message":
                for log in self._logs(place):
                    roles = self._stores.conversations.logs.roles([LogEnd(log, (), None)])[0]
                    yield log, [row_id for row_id, role in roles if role in SEARCHED_ROLES]

    def _logs(self, agent_id: str) -> list[str]:
        """The agent's own log, the logs of its conversations, and the logs of deleted conversations that forks still refer to."""
        own = [agent_id, *self._stores.conversation_records.ids(agent_id)]
        heads = self._stores.conversations.heads(own).values()
        return list(dict.fromkeys([*own, *(one.conversation for head in heads for one in head.segments)]))


class Reindexing:
    """Rebuilds the index, which all tenants share, from the table."""

    def __init__(self, stores: Stores, index: MemoryIndex) -> None:
        self._stores = stores
        self._index = index

    def tenants(self) -> Sequence[str]:
        """All tenants of the deployment. A rebuild empties the index of all of them."""
        return self._stores.api_keys.tenants()

    def end(self) -> bool:
        """Call `TenantReindexing.end` for every tenant. True: no rebuild is under way."""
        return all([self.of(tenant).end() for tenant in self.tenants()])

    def remaining(self) -> int:
        """Number of pointers of all tenants that the index workers have still to process."""
        return sum(self.of(tenant).remaining() for tenant in self.tenants())

    def broken_off(self) -> bool:
        """Whether the rebuild of any tenant has emptied the index and not written all its pointers."""
        return any(self.of(tenant).broken_off() for tenant in self.tenants())

    def of(self, tenant: str) -> TenantReindexing:
        """The rebuild of one tenant."""
        return TenantReindexing(self._stores.of(tenant))

    def begin(self, tenants: Sequence[str], report: Callable[[Progress], None]) -> int:
        """Empty the index and write the pointers of all tenants. Returns the number of records; calls `report` after each place.

        Raises: IndexAsleep.
        """
        parts = [self.of(tenant) for tenant in tenants]
        builds = [(part, part.begin()) for part in parts]
        for space in self._index.spaces():
            self._index.drop(space)
        records = 0
        for part, build in builds:
            before = records
            for progress in part.point(build):
                records = before + progress.records
                report(replace(progress, records=records))
        return records


def _batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), TOGETHER):
        yield ids[start : start + TOGETHER]
