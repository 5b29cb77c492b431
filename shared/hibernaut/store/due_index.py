"""The index DUE, which serves all tenants: whatever must be taken up at some time, in the order of those times. Only the sweep reads it."""

from __future__ import annotations

from hibernaut.ports.table import Index, Key, Table
from hibernaut.store import keys


class DueIndex:
    """What is past due, of all tenants: open runs, files that are read, approvals with a deadline, deletions that go on."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def past(self, shard: str, now_ms: int | None) -> list[Key]:
        """The keys of what is past due at this time in milliseconds since 1970 (None: of all that is in the index)."""
        before = keys.due_before(now_ms) if now_ms is not None else None
        items = self._table.query(keys.due_partition(shard), index=Index.DUE, before=before)
        return [Key(str(item["pk"]), str(item["sk"])) for item in items]
