"""Steps in the table: the steps of a run, the steps of a tenant, and the one change of a step: its feedback.

Steps are written by `store.transactions`, together with everything else that happened in them.
"""

from __future__ import annotations

from collections.abc import Iterator

from hibernaut.ports.table import PRESENT, Key, Update
from hibernaut.schemas.step import StoredStep
from hibernaut.store import keys, lists
from hibernaut.store.codec import Codec, freed
from hibernaut.store.logs import IdRange
from hibernaut.store.tenant_table import TenantTable

NOUN = "STEPS"


class StepStore:
    """Steps."""

    def __init__(self, table: TenantTable, codec: Codec) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec

    def get(self, step_id: str) -> StoredStep | None:
        key = lists.find(self._table, NOUN, step_id)
        item = self._table.get(key) if key else None
        return self._codec.record(StoredStep, item) if item else None

    def of_run(self, run_id: str) -> list[StoredStep]:
        """Oldest first."""
        items = self._table.query(keys.run(self._tenant, run_id).pk, prefix="STEP#")
        return [self._codec.record(StoredStep, item) for item in items]

    def walk(self, span: IdRange, *, chunk: int, descending: bool = False) -> Iterator[StoredStep]:
        """Steps of all runs in the order asked for, as far as they are asked for (through the index, which may lag)."""
        for item in lists.walked(self._table, NOUN, span, chunk=chunk, descending=descending):
            yield self._codec.record(StoredStep, item)

    def change(self, step: StoredStep) -> Update:
        """The change of a step's record. The last write of the feedback wins. Fails where the step is gone."""
        key = Key(*keys.step(self._tenant, step.run_id or "", step.id))
        return Update(key, set=self._codec.body(key, step), when=PRESENT, frees=freed(key, step))
