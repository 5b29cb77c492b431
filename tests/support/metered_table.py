"""A table that counts what DynamoDB charges for each operation: read units and write units, by the sizes of the items.

Source of the rules: Amazon DynamoDB developer guide, "Read and write operations" and "Transactions". A consistent read takes a
unit for each 4 KB, a read of an index half of that. A write takes a unit for each KB of the larger of the item before and after
it, in a transaction two. A keys-only index takes a unit for each of its items that is written or deleted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import Context
from dataclasses import dataclass
from math import ceil
from typing import Any

from hibernaut.ports.storage.table import Change, Check, Index, Item, Key, Query, Table
from tests.support.tables import PassesOn

READ_BYTES, WRITE_BYTES = 4096, 1024


@dataclass(frozen=True)
class Charge:
    """One operation: its kind, its units, and the worker that waited for it."""

    worker: str
    kind: str
    read: float = 0
    written: float = 0


class MeteredTable(PassesOn):
    """Passes each charge to `on_charge`. `worker` names the worker that calls."""

    def __init__(self, table: Table, on_charge: Callable[[Charge], None], worker: Callable[[], str]) -> None:
        super().__init__(table)
        self._on_charge, self._worker = on_charge, worker
        self._lock = threading.Lock()

    def get(self, key: Key) -> Item | None:
        found = super().get(key)
        self._charge("get", read=read_units([found] if found else []))
        return found

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        found = super().get_many(keys)
        missing = len(set(keys)) - len(found)
        self._charge("get_many", read=missing + sum(read_units([item]) for item in found.values()))
        return found

    def query(self, pk: str, *, index: Index | None = None, names: Sequence[str] = (), **asked: object) -> list[Item]:  # type: ignore[override]
        found = super().query(pk, index=index, names=names, **asked)  # type: ignore[arg-type]
        whole = _unmetered(super().query, pk, index=index, **asked) if names else found
        self._charge("query", read=read_units(whole) / (1 if index is None else 2))
        return found

    def query_many(self, queries: Sequence[Query]) -> list[list[Item]]:
        return [one.run(self.query) for one in queries]

    def count(self, pk: str, *, prefix: str = "", having: str = "pk") -> int:
        self._charge("count", read=read_units(_unmetered(super().query, pk, prefix=prefix)))
        return super().count(pk, prefix=prefix, having=having)

    def write(self, *changes: Change) -> None:
        keys = [change.key for change in changes]
        with self._lock:
            before = _unmetered(self._table.get_many, keys)
            super().write(*changes)
            after = _unmetered(self._table.get_many, keys)
        times = 2 if len(changes) > 1 or isinstance(changes[0], Check) else 1
        units = sum(write_units(before.get(key), after.get(key), times) for key in keys)
        self._charge("write", written=units)

    def _charge(self, kind: str, *, read: float = 0, written: float = 0) -> None:
        self._on_charge(Charge(self._worker(), kind, read, written))


def _unmetered(read: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """A read of this double's own, in a context in which the product's meter counts nothing."""
    return Context().run(read, *args, **named)


def size(item: Item | None) -> int:
    """The bytes that DynamoDB counts for an item: its names and its values in UTF-8; a number has a byte for two digits, and one
    more.
    """
    found = 0
    for name, value in (item or {}).items():
        found += len(name.encode())
        match value:
            case bool():
                found += 1
            case int():
                found += ceil(len(str(abs(value))) / 2) + 1
            case str():
                found += len(value.encode())
    return found


def read_units(items: Sequence[Item]) -> int:
    """The units of one consistent read of these items together."""
    return max(1, ceil(sum(map(size, items)) / READ_BYTES))


def write_units(before: Item | None, after: Item | None, times: int) -> int:
    """The units of one change. `times`: 2 in a transaction, which indexes are not charged for."""
    units = times * max(1, ceil(max(size(before), size(after)) / WRITE_BYTES))
    for index in Index:
        old, new = (tuple((item or {}).get(f"{index}_{part}") for part in ("pk", "sk")) for item in (before, after))
        if old != new:
            units += (old[0] is not None) + (new[0] is not None)
    return units
