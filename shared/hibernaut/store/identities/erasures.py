"""Erasures of persons in the table: the record, which is in the index DUE while there is work, the lines of its receipt, and the
marks of the senders whose messages are refused meanwhile.

A line is written once, before the erasure of its record: a worker that begins again finds the counts of the first one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from hibernaut.ports.storage.table import ABSENT, MAX_CHANGES, Change, Delete, Item, Key, Put, Query, Update, Value, eq
from hibernaut.schemas.agents.erasure import ErasureLine, StoredErasure
from hibernaut.store.groups import group_keys
from hibernaut.store.identities import erasure_keys
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec, freed
from hibernaut.store.table.lists.row_lists import RowList
from hibernaut.store.table.tenant_table import TenantBlobs, TenantTable
from hibernaut.store.versions import version_keys

_GROUP = "group-"
PAGE = 200
"""Items of one read."""


class ErasureStore:
    """The erasures of one tenant. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob cannot be read."""

    def __init__(self, table: TenantTable, codec: Codec, blobs: TenantBlobs) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec
        self._blobs = blobs

    def get(self, erasure_id: str) -> StoredErasure | None:
        """The erasure, or None."""
        item = self._table.get(erasure_keys.erasure(self._tenant, erasure_id))
        return self._read(item) if item else None

    def get_many(self, erasure_ids: Sequence[str]) -> dict[str, StoredErasure]:
        """The erasures that exist among these, by id."""
        found = self._table.get_many([erasure_keys.erasure(self._tenant, one) for one in erasure_ids]) if erasure_ids else {}
        erasures = [self._read(item) for item in found.values()]
        return {erasure.id: erasure for erasure in erasures}

    def _read(self, item: Item) -> StoredErasure:
        erasure = self._codec.record(StoredErasure, item)
        erasure.version = int(item["version"])
        return erasure

    def listed(self) -> RowList:
        """The list rows of all erasures."""
        return RowList(self._table, erasure_keys.erasure_row(self._tenant, "erasure").pk)

    def create(self, erasure: StoredErasure, due_ms: int, token: str) -> list[Change]:
        """The changes that create an erasure, and the marks of its senders. Condition: there is none with its id."""
        key, row = (make(self._tenant, erasure.id) for make in (erasure_keys.erasure, erasure_keys.erasure_row))
        due = keys.due(erasure.id, due_ms)
        return [
            Put(self._codec.item(key, erasure, version=erasure.version, wt=token, **due), ABSENT),
            Put({"pk": row.pk, "sk": row.sk}),
            *(Put({"pk": mark.pk, "sk": mark.sk, "erasure": erasure.id}) for mark in self._marks(erasure)),
        ]

    def change(self, before: StoredErasure, after: StoredErasure, due_ms: int | None, token: str) -> Update:
        """The change from `before` to `after`. Condition: the version is that of `before`. `due_ms` None: there is no more
        work.
        """
        key = erasure_keys.erasure(self._tenant, after.id)
        record = after.model_copy(update={"version": before.version + 1})
        attributes: dict[str, Value] = {**self._codec.body(key, record), "version": record.version, "wt": token}
        if due_ms is not None:
            attributes |= keys.due(after.id, due_ms)
        cleared = ("due_pk", "due_sk") if due_ms is None else ()
        return Update(key, set=attributes, remove=cleared, when=eq(version=before.version), frees=freed(key, before))

    def admit(self, erasure: StoredErasure) -> list[Delete]:
        """The changes that let the senders of an erasure speak again."""
        return [Delete(mark) for mark in self._marks(erasure)]

    def _marks(self, erasure: StoredErasure) -> list[Key]:
        return [erasure_keys.sender(self._tenant, sender) for sender in erasure.senders]

    # the receipt

    def begin_line(self, erasure_id: str, line: ErasureLine) -> list[Change]:
        """The changes that write a line, and the tombstone of its history if it has one. Condition: the receipt has no such
        line.
        """
        key = self._line(erasure_id, line)
        changes: list[Change] = [Put(self._codec.item(key, line, done=line.done), ABSENT)]
        if line.extent == "whole" and line.hash is not None:
            changes.append(self._tombstone(erasure_id, line))
        return changes

    def put_line(self, erasure_id: str, line: ErasureLine) -> list[Change]:
        """The changes that replace a line."""
        changes: list[Change] = [Put(self._codec.item(self._line(erasure_id, line), line, done=line.done))]
        if line.extent == "whole" and line.hash is not None:
            changes.append(self._tombstone(erasure_id, line))
        return changes

    def _tombstone(self, erasure_id: str, line: ErasureLine) -> Put:
        key = version_keys.erased(self._tenant, line.id)
        return Put({"pk": key.pk, "sk": key.sk, "erasure": erasure_id, "version": line.version or 0, "hash": line.hash or ""})

    def _line(self, erasure_id: str, line: ErasureLine) -> Key:
        return erasure_keys.line(self._tenant, erasure_id, line.kind, line.id)

    def line(self, erasure_id: str, kind: str, subject: str) -> ErasureLine | None:
        """The line of a record, or None."""
        item = self._table.get(erasure_keys.line(self._tenant, erasure_id, kind, subject))
        return self._codec.record(ErasureLine, item) if item else None

    def lines(self, erasure_id: str, kind: str = "", after: str = "", limit: int | None = None) -> list[ErasureLine]:
        """The lines of a receipt by kind and id. `kind`: only those; `after`: the place of the last one (`place_of`)."""
        prefix = f"{erasure_keys.LINE}{kind}#" if kind else erasure_keys.LINE
        lower = f"{erasure_keys.LINE}{after}" if after else None
        items = self._table.query(erasure_keys.erasure(self._tenant, erasure_id).pk, prefix=prefix, after=lower, limit=limit)
        return [self._codec.record(ErasureLine, item) for item in items]

    # what lies under a record

    def steps_of(self, run_ids: Sequence[str]) -> list[tuple[str, str]]:
        """The steps of these runs: the id of the run, and of the step."""
        queries = [Query(keys.run(self._tenant, run_id).pk, prefix="STEP#", names=("sk",)) for run_id in run_ids]
        found = self._table.query_many(queries)
        return [(run_id, keys.last_part(str(row["sk"]))) for run_id, rows in zip(run_ids, found, strict=True) for row in rows]

    def run_ids(self, agent_id: str, after: str = "", limit: int = PAGE) -> list[str]:
        """The ids of an agent's runs after one, oldest first."""
        pk, lower = keys.agent(self._tenant, agent_id).pk, f"RUN#{after}" if after else None
        rows = self._table.query(pk, prefix="RUN#", after=lower, limit=limit, names=("sk",))
        return [keys.last_part(str(row["sk"])) for row in rows]

    def agent_after(self, agent_id: str) -> tuple[str, list[str]] | None:
        """The next agent of the tenant ("": the first one) with its identities; behind the agents the groups, whose logs lie
        under agents of their ids. None: there is none.
        """
        rows: list[Item] = []
        if not agent_id.startswith(_GROUP):
            pk = keys.agent_row(self._tenant, "").pk
            rows = self._table.query(pk, after=agent_id or None, limit=1, names=("identity_ids",))
        if not rows:
            pk = group_keys.row(self._tenant, "").pk
            rows = self._table.query(pk, after=agent_id if agent_id.startswith(_GROUP) else None, limit=1, names=("sk",))
        return (str(rows[0]["sk"]), json.loads(str(rows[0].get("identity_ids", "[]")))) if rows else None

    def count(self, pk: str, prefix: str) -> int:
        """The number of items of a partition whose sort keys have this prefix."""
        return self._table.count(pk, prefix=prefix)

    def is_empty(self, partition: str, prefix: str = "") -> bool:
        """Whether a partition has no such item."""
        return not self._table.query(partition, prefix=prefix, limit=1, names=("sk",))

    def empty(self, partition: str, prefix: str = "") -> int:
        """Delete all items of a partition whose sort keys have this prefix, with their blobs. Returns their number. Raises:
        OSError.
        """
        count = 0
        while page := self._table.query(partition, prefix=prefix, limit=MAX_CHANGES, names=("blob",)):
            self._table.write(*(Delete(Key(str(item["pk"]), str(item["sk"]))) for item in page))
            for item in page:
                if blob := str(item.get("blob", "")):
                    self._blobs.delete(blob)
            count += len(page)
        return count


def place_of(line: ErasureLine) -> str:
    """The place of a line in its receipt."""
    return f"{line.kind}#{line.id}"
