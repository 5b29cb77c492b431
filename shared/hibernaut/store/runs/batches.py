"""Batches of messages in the table: the record, which is in the index DUE until the batch is over, and the list row."""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.ports.storage.table import ABSENT, Change, Item, Put, Update, Value, eq
from hibernaut.schemas.runs.batch import StoredBatch
from hibernaut.store.runs import batch_keys
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec, freed
from hibernaut.store.table.lists.row_lists import RowList
from hibernaut.store.table.lost_records import readable
from hibernaut.store.table.tenant_table import TenantTable


class BatchStore:
    """Batches of one tenant. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob cannot be read."""

    def __init__(self, table: TenantTable, codec: Codec) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec

    def get(self, batch_id: str) -> StoredBatch | None:
        """The batch, or None."""
        item = self._table.get(batch_keys.batch(self._tenant, batch_id))
        return self._read(item) if item else None

    def get_many(self, batch_ids: Sequence[str]) -> dict[str, StoredBatch]:
        """The batches that exist among these, by id."""
        if not batch_ids:
            return {}
        found = self._table.get_many([batch_keys.batch(self._tenant, batch_id) for batch_id in batch_ids])
        batches = readable(self._read, found.values())
        return {batch.id: batch for batch in batches}

    def _read(self, item: Item) -> StoredBatch:
        batch = self._codec.record(StoredBatch, item)
        batch.version = int(item["version"])
        return batch

    def create(self, batch: StoredBatch, due_ms: int, token: str) -> list[Change]:
        """The changes that create a batch. From `due_ms` on, the sweep continues it."""
        key, row = batch_keys.batch(self._tenant, batch.id), batch_keys.batch_row(self._tenant, batch.id)
        due = keys.due(batch.id, due_ms)
        return [
            Put(self._codec.item(key, batch, version=batch.version, wt=token, **due), ABSENT),
            Put({"pk": row.pk, "sk": row.sk}),
        ]

    def change(self, before: StoredBatch, after: StoredBatch, due_ms: int | None, token: str) -> Update:
        """The change from `before` to `after`. Condition: the version is that of `before`. `due_ms` None: the batch leaves the
        index DUE.
        """
        key = batch_keys.batch(self._tenant, after.id)
        record = after.model_copy(update={"version": before.version + 1})
        attributes: dict[str, Value] = {**self._codec.body(key, record), "version": record.version, "wt": token}
        cleared: tuple[str, ...] = ("due_pk", "due_sk")
        if due_ms is not None:
            attributes |= keys.due(after.id, due_ms)
            cleared = ()
        return Update(key, set=attributes, remove=cleared, when=eq(version=before.version), frees=freed(key, before))

    def listed(self) -> RowList:
        """The list rows of all batches."""
        return RowList(self._table, batch_keys.batch_row(self._tenant, "job").pk)
