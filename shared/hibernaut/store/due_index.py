"""The index DUE of all tenants: the items that the sweep must handle after a point in time, in the order of time. Only the sweep
reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hibernaut.ports.storage.table import Index, Item, Key, Query, Table, Update, eq
from hibernaut.schemas.immutable import immutable
from hibernaut.store.table import keys
from hibernaut.store.table.retries import RetryPolicy
from hibernaut.store.table.writer import Writer


@immutable
class DueItem:
    """An item of the index: its key, and its place in the order of time. `due_ms`: milliseconds since 1970."""

    key: Key
    at: str

    @property
    def due_ms(self) -> int:
        return int(self.at.partition("#")[0])


class DueIndex:
    """The due items of all tenants: open runs, ended runs with a callback, files in ingestion, approvals with a deadline,
    deletions that are not complete, triggers and idle times of sleep-time agents. Raises: StoreUnavailable
    (`store.table.retries`).
    """

    def __init__(self, table: Table, policy: RetryPolicy) -> None:
        self._table = table
        self._writer = Writer(table, policy)

    def pages(self, now_ms: int | None, size: int) -> Iterator[list[list[DueItem]]]:
        """The items that are due at `now_ms`, in milliseconds since 1970 (None: all items of the index), in pages of at most
        `size` items of each shard. An item that moves behind `now_ms` meanwhile is not met again.
        """
        before = keys.due_before(now_ms) if now_ms is not None else None
        queries = [Query(pk, index=Index.DUE, before=before, limit=size) for pk in keys.due_partitions()]
        while queries:
            found = self._table.query_many(queries)
            if any(found):
                yield [[_due(item) for item in items] for items in found]
            full = [(one, items) for one, items in zip(queries, found, strict=True) if len(items) == size]
            queries = [replace(one, after=str(items[-1]["due_sk"])) for one, items in full]

    def unfinished(self) -> list[Key]:
        """The keys of the items that something is to be done with: all but how far lists are built, which every folder has."""
        return [key for key in self.all() if key.sk != keys.BUILD]

    def all(self) -> list[Key]:
        """The keys of all items of the index."""
        found: Sequence[Sequence[Item]] = self._table.query_many([Query(pk, index=Index.DUE) for pk in keys.due_partitions()])
        return [_due(item).key for items in found for item in items]

    def postpone(self, item: DueItem, due_ms: int) -> None:
        """Make an item due at `due_ms`. Raises: ConditionFailed if its place has changed since it was read."""
        place = keys.due(keys.last_part(item.at), due_ms)
        self._writer.write(Update(item.key, set=place, when=eq(due_sk=item.at)))


def _due(item: Item) -> DueItem:
    return DueItem(Key(str(item["pk"]), str(item["sk"])), str(item["due_sk"]))
