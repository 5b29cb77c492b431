"""The tenant-wide lists, such as those of runs, steps, messages and conversations: entries in order, and one entry by its id.

Each list is spread over shards of the index LISTS. The index may lag: an entry that was just written may be missing. Each
function raises StoreUnavailable (`store.table.retries`).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from math import ceil, sqrt

from hibernaut.ports.storage.table import Index, Item, Key, Query
from hibernaut.schemas.immutable import immutable
from hibernaut.store.table import keys
from hibernaut.store.table.lists.logs import IdRange
from hibernaut.store.table.tenant_table import TenantTable

MOST_AT_ONCE = 500
"""Entries, or items, of one read."""


@immutable
class IndexList:
    """A list: its partitions in an index."""

    partitions: Sequence[str]
    index: Index = Index.LISTS

    def sk(self, entry: Item) -> str:
        """The sort key of an entry in the list."""
        return str(entry[f"{self.index}_sk"])


def entries(table: TenantTable, index_list: IndexList, span: IdRange, *, first: int, descending: bool = False) -> Iterator[Item]:
    """The entries with after < sort key < before, in the order of their sort keys, read lazily. `first`: how many are expected to
    be needed. An entry holds only keys.
    """
    share = first / len(index_list.partitions)
    # Three deviations above a shard's share: with so many of each shard, a second read is rare.
    size = min(ceil(share + 3 * sqrt(share)) + 1 if len(index_list.partitions) > 1 else first, MOST_AT_ONCE)
    queries = [
        Query(pk, index=index_list.index, after=span.after, before=span.before, limit=size, descending=descending)
        for pk in index_list.partitions
    ]
    walks = [
        continued(table, one, found, f"{index_list.index}_sk")
        for one, found in zip(queries, table.query_many(queries), strict=True)
    ]
    yield from heapq.merge(*walks, key=index_list.sk, reverse=descending)


def continued(table: TenantTable, query: Query, found: Sequence[Item], sort_key: str) -> Iterator[Item]:
    """All results of a query, of which the first ones, `found`, are read already; the others are read lazily. `sort_key`: the
    attribute that orders them.
    """
    size = query.limit or MOST_AT_ONCE
    while True:
        yield from found
        if len(found) < size:
            return
        last = str(found[-1][sort_key])
        size = min(2 * size, MOST_AT_ONCE)
        query = replace(query, before=last, limit=size) if query.descending else replace(query, after=last, limit=size)
        found = query.run(table.query)


def tenant_list(table: TenantTable, noun: str) -> IndexList:
    """The sharded list of a noun."""
    return IndexList(keys.list_partitions(table.tenant, noun))


def walked(table: TenantTable, noun: str, span: IdRange, *, first: int, descending: bool = False) -> Iterator[Item]:
    """The items of the entries in a span, in the order of the entries, read lazily: `first` of them at once, then more and more.

    An entry whose item was deleted, and which the index still has, is skipped.
    """
    size = min(max(first, 1), MOST_AT_ONCE)
    found = entries(table, tenant_list(table, noun), span, first=size, descending=descending)
    while batch := [Key(str(entry["pk"]), str(entry["sk"])) for entry in islice(found, size)]:
        items = table.get_many(batch)
        yield from (items[key] for key in batch if key in items)
        size = min(2 * size, MOST_AT_ONCE)


def find(table: TenantTable, noun: str, identifier: str) -> Key | None:
    """The key of the entry with this id; None if the index has no such entry."""
    places = keys.list_partitions_of(table.tenant, noun, identifier)
    found = table.query_many([Query(pk, index=Index.LISTS, prefix=identifier, limit=1) for pk in places])
    entries = (entry for batch in found for entry in batch if entry["list_sk"] == identifier)
    return next((Key(str(entry["pk"]), str(entry["sk"])) for entry in entries), None)
