"""Pending approvals in the table: one record per requesting run, which lives as long as the run.

This module has reads and single changes. `store.runs.transactions` combines changes into transactions.
"""

from __future__ import annotations

from collections.abc import Iterator

from hibernaut.ports.storage.table import ABSENT, Item, Op, Put, Term, Update, Value
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.runs.approval import PendingApproval
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec, freed
from hibernaut.store.table.lists import lists
from hibernaut.store.table.lists.logs import IdRange
from hibernaut.store.table.tenant_table import TenantTable

WAITING = "APPROVALS"
"""The list of the approvals of a tenant that wait for an answer."""


@immutable
class ApprovalState:
    """The record of an approval, and the task token that ends the workflow's wait for the answer ("": no workflow waits)."""

    record: PendingApproval
    task_token: str = ""


class ApprovalStore:
    """Pending approvals. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob cannot be read."""

    def __init__(self, table: TenantTable, codec: Codec) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec

    def get(self, run_id: str) -> ApprovalState | None:
        """The approval that the run requested, or None."""
        item = self._table.get(keys.approval(self._tenant, run_id))
        return self._read(item) if item else None

    def get_many(self, run_ids: list[str]) -> dict[str, PendingApproval]:
        """The approvals that these runs requested, by run id."""
        found = self._table.get_many([keys.approval(self._tenant, run_id) for run_id in run_ids])
        records = [self._read(item).record for item in found.values()]
        return {record.run_id: record for record in records}

    def walk_waiting(self, span: IdRange, *, first: int, descending: bool = False) -> Iterator[PendingApproval]:
        """The approvals that wait for an answer, in the order of their runs' ids, read lazily through the index LISTS, which may
        lag.

        An approval that an older version of the server has written is not listed.
        """
        found = lists.walked(self._table, WAITING, span, first=first, descending=descending)
        return (self._read(item).record for item in found if item["consumed"] == "")

    def _read(self, item: Item) -> ApprovalState:
        return ApprovalState(self._codec.record(PendingApproval, item), str(item["task_token"]))

    def create(self, record: PendingApproval) -> Put:
        """The change that creates the record. It is in the list of what waits; with a deadline it is also in the index DUE."""
        key = keys.approval(self._tenant, record.run_id)
        due = keys.due(record.run_id, int(record.deadline.timestamp() * 1000)) if record.deadline else {}
        listed = keys.listed(self._tenant, WAITING, record.run_id)
        return Put(self._codec.item(key, record, consumed="", task_token="", **due, **listed), ABSENT)

    def consume(self, record: PendingApproval, token: str) -> Update:
        """The change by which the run `record.consumed_by` consumes the approval. Of two concurrent changes one fails its
        condition.
        """
        key = keys.approval(self._tenant, record.run_id)
        attributes: dict[str, Value] = {**self._codec.body(key, record), "consumed": record.consumed_by or "", "wt": token}
        cleared = ("due_pk", "due_sk", "list_pk", "list_sk")
        return Update(key, set=attributes, remove=cleared, when=_OPEN, frees=freed(key, record))

    def keep_token(self, run_id: str, task_token: str) -> Update:
        """The change that stores the task token of the workflow's wait. Condition: the approval is not consumed."""
        return Update(keys.approval(self._tenant, run_id), set={"task_token": task_token, "wt": task_token[-36:]}, when=_OPEN)


_OPEN = (Term("consumed", Op.EQ, ""),)
