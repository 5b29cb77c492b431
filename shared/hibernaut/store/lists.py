"""The tenant-wide lists, which are spread over shards of the index LISTS: merged by id, and one entry by its id.

The index may lag: what was written a moment ago may be missing.
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
    """The items of the entries in a span, in the order of their ids, read chunk by chunk as far as they are asked for.

    What is gone already and still in the index is passed over.
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
    """Where the entry with this id stands."""
    pk = keys.list_partition(table.tenant, noun, keys.shard_of(identifier))
    found = table.query(pk, index=Index.LISTS, prefix=identifier, limit=1)
    if not found or found[0]["list_sk"] != identifier:
        return None
    return Key(str(found[0]["pk"]), str(found[0]["sk"]))
