"""Steps in the table: the steps of a run, the steps of a tenant, and the only change of a step, which is its feedback.

`store.runs.transactions` writes a step's record together with the rows and events of the step.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from hibernaut.domain.wire.run_trace import trace_id
from hibernaut.ports.storage.table import PRESENT, Item, Key, Update
from hibernaut.schemas.runs.step import StepUsage, StoredStep
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec, freed
from hibernaut.store.table.lists import lists
from hibernaut.store.table.lists.logs import IdRange
from hibernaut.store.table.lost_records import readable
from hibernaut.store.table.tenant_table import TenantTable

NOUN = "STEPS"


class StepStore:
    """The records of steps. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob cannot be read."""

    def __init__(self, table: TenantTable, codec: Codec) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec

    def get(self, step_id: str) -> StoredStep | None:
        """The step, or None. Reads the index LISTS, which may lag."""
        key = lists.find(self._table, NOUN, step_id)
        item = self._table.get(key) if key else None
        return self._read(item) if item else None

    def of_run(self, run_id: str) -> list[StoredStep]:
        """The steps of a run, oldest first."""
        items = self._table.query(keys.run(self._tenant, run_id).pk, prefix="STEP#")
        return [*readable(self._read, items)]

    def walk(self, span: IdRange, *, first: int, descending: bool = False) -> Iterator[StoredStep]:
        """The steps of all runs in the order of their ids, newest first if `descending`, read lazily: `first` of
        them at once, then more and more. Reads the index LISTS, which may lag.
        """
        yield from readable(self._read, lists.walked(self._table, NOUN, span, first=first, descending=descending))

    def walk_usage(self, span: IdRange, *, first: int) -> Iterator[StepUsage]:
        """What the steps of all runs used, newest first, as `walk` reads them."""
        items = lists.walked(self._table, NOUN, span, first=first, descending=True)
        yield from readable(partial(self._codec.record, StepUsage), items)

    def change(self, step: StoredStep) -> Update:
        """The change of a step's record. The last write of the feedback wins. Condition: the step exists."""
        key = Key(*keys.step(self._tenant, step.run_id or "", step.id))
        return Update(key, set=self._codec.body(key, bare(step)), when=PRESENT, frees=freed(key, step))

    def _read(self, item: Item) -> StoredStep:
        """The step of an item. Items of older versions hold the run's id and the trace's too."""
        step = self._codec.record(StoredStep, item)
        step.run_id = step.run_id or keys.last_part(str(item["pk"]))
        step.trace_id = step.trace_id or trace_id(step.run_id)
        return step


def bare(step: StoredStep) -> StoredStep:
    """The step without the fields of its key, so that most steps stay below a KB."""
    return step.model_copy(update={"run_id": None, "trace_id": None})
