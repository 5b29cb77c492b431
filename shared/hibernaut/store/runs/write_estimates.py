"""Estimates of the write units of a run's transactions, made before they are written. Pure.

Source of the rules: Amazon DynamoDB developer guide, "Read and write operations": an item takes two units per KB in a
transaction, an entry of a keys-only index takes one. `tests/budgets/test_aws_costs.py` compares the estimates with counted units.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from pydantic import BaseModel

from hibernaut.ports.storage.table import Change, Put, Update
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.schemas.runs.step import StoredStep
from hibernaut.store.table.bodies.codec import INLINE_BYTES, json_of

ENTRY = 1
"""Units of a new entry in an index."""
SMALL = 2
"""Units of an item below a KB in a transaction."""
RUN_BYTES, ROW_BYTES = 380, 200
"""Bytes of a run's item, and of a row's or step's, in addition to the body: keys, places in indexes, and the items of
conditions.
"""
ACCEPTANCE_OVERHEAD = SMALL + (SMALL + ENTRY) + SMALL
"""The head, the run's list row, and the mark of the request."""
STEP_OVERHEAD = SMALL + SMALL
"""The head and the events."""
END_OVERHEAD = STEP_OVERHEAD + SMALL + (SMALL + 2 * ENTRY)
"""What a step writes, the run's list row, and the agent's last run, which moves in its list."""


def acceptance_units(run: StoredRun) -> float:
    """The units of the transaction that creates this run with the messages of its input."""
    return ACCEPTANCE_OVERHEAD + _of_run(run.model_copy(update={"input": []})) + _of_rows(run.input)


def commit_units(
    run: StoredRun, step: StoredStep | None, rows: Sequence[Message], edits: Sequence[Change], *, ends: bool
) -> float:
    """The units of the transaction that commits a step, or that ends the run."""
    records: list[BaseModel] = [*rows, *([step] if step else [])]
    return (END_OVERHEAD if ends else STEP_OVERHEAD) + _of_run(run) + _of_rows(records) + sum(map(_of_edit, edits))


def _of_run(run: StoredRun) -> float:
    """The units of a run that moves in the index of due items, or leaves two indexes."""
    return _in_transaction(RUN_BYTES + _inline(run)) + 2 * ENTRY


def _of_rows(rows: Sequence[BaseModel]) -> float:
    return sum(_in_transaction(ROW_BYTES + _inline(row)) + ENTRY for row in rows)


def _inline(record: BaseModel) -> int:
    """The characters of a body that stays in its item; a larger one is a blob."""
    length = len(json_of(record))
    return length if length <= INLINE_BYTES else 0


def _of_edit(change: Change) -> float:
    values = change.item if isinstance(change, Put) else change.set if isinstance(change, Update) else {}
    return _in_transaction(sum(len(name) + len(str(value)) for name, value in values.items()))


def _in_transaction(size: int) -> int:
    return SMALL * max(1, ceil(size / 1024))
