"""The index DUE of all tenants: the items that the sweep must handle after a point in time, in the order of time. Only the sweep
reads it.
"""

from __future__ import annotations

from hibernaut.ports.table import Index, Key, Table
from hibernaut.store.table import keys


class DueIndex:
    """The due items of all tenants: open runs, ended runs with a callback, files in ingestion, approvals with a deadline,
    deletions that are not complete. Raises: StoreUnavailable (`store.table.retries`).
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def past(self, shard: str, now_ms: int | None) -> list[Key]:
        """The keys of a shard's items that are due at `now_ms`, in milliseconds since 1970 (None: of all items in the index)."""
        before = keys.due_before(now_ms) if now_ms is not None else None
        items = self._table.query(keys.due_partition(shard), index=Index.DUE, before=before)
        return [Key(str(item["pk"]), str(item["sk"])) for item in items]
