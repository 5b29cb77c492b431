"""The tenant-wide lists of runs, steps, messages and conversations: entries merged by id, and one entry by its id.

Each list is spread over shards of the index LISTS. The index may lag: an entry that was just written may be missing. Each
function raises StoreUnavailable (`store.retries`).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import islice

from hibernaut.ports.table import Index, Item, Key
from hibernaut.store import keys
from hibernaut.store.logs import IdRange
from hibernaut.store.tenant_table import TenantTable


def merged(
    table: TenantTable,
    noun: str,
    *,
    limit: int,
    after: str | None = None,
    before: str | None = None,
    descending: bool = False,
) -> list[Key]:
    """The keys of at most `limit` entries with after < id < before, in the order of their ids."""
    shards = (
        [
            (str(item["list_sk"]), Key(str(item["pk"]), str(item["sk"])))
            for item in table.query(
                keys.list_partition(table.tenant, noun, shard),
                index=Index.LISTS,
                after=after,
                before=before,
                limit=limit,
                descending=descending,
            )
        ]
        for shard in keys.shards()
    )
    return [key for _, key in islice(heapq.merge(*shards, reverse=descending), limit)]


def walked(table: TenantTable, noun: str, span: IdRange, *, chunk: int, descending: bool = False) -> Iterator[Item]:
    """The items of the entries in a span, in the order of their ids, read lazily in chunks of `chunk` entries.

    An entry whose item was deleted, and which the index still has, is skipped.
    """
    while True:
        found = merged(table, noun, limit=chunk, after=span.after, before=span.before, descending=descending)
        items = table.get_many(found)
        yield from (items[key] for key in found if key in items)
        if len(found) < chunk:
            return
        last = keys.last_part(found[-1].sk)
        span = IdRange(span.after, last) if descending else IdRange(last, span.before)


def find(table: TenantTable, noun: str, identifier: str) -> Key | None:
    """The key of the entry with this id; None if the index has no such entry."""
    pk = keys.list_partition(table.tenant, noun, keys.shard_of(identifier))
    found = table.query(pk, index=Index.LISTS, prefix=identifier, limit=1)
    if not found or found[0]["list_sk"] != identifier:
        return None
    return Key(str(found[0]["pk"]), str(found[0]["sk"]))
