"""A table that counts what its writes cost DynamoDB, by partition.

The rules are those of the developer guide: an item costs a unit for each KB that it has before or after the write, twice as much
in a transaction ("Read and write operations"); an index costs a unit for each entry that is added, removed or, in two, moved, and
nothing where the entry stays as it is ("Using Global Secondary Indexes"). The indexes hold keys only.
"""

from __future__ import annotations

from collections import Counter
from math import ceil

from hibernaut.ports.storage.table import Change, Check, Index, Item, Table
from tests.support.tables import PassesOn


class WriteMeter(PassesOn):
    """`units`: write units by partition key, of the table and of its indexes."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.units: Counter[str] = Counter()

    def write(self, *changes: Change) -> None:
        written = [change.key for change in changes if not isinstance(change, Check)]
        before = self._table.get_many(written)
        self._table.write(*changes)
        after = self._table.get_many(written)
        for key in written:
            old, new = before.get(key, {}), after.get(key, {})
            self.units[key.pk] += max(_kilobytes(old), _kilobytes(new), 1) * (2 if len(changes) > 1 else 1)
            for index in Index:
                self._moved(_place(old, index), _place(new, index))

    def _moved(self, old: tuple[str, str] | None, new: tuple[str, str] | None) -> None:
        if old != new:
            for place in (old, new):
                if place is not None:
                    self.units[place[0]] += 1


def _place(item: Item, index: Index) -> tuple[str, str] | None:
    pk, sk = item.get(f"{index}_pk"), item.get(f"{index}_sk")
    return (str(pk), str(sk)) if pk is not None and sk is not None else None


def _kilobytes(item: Item) -> int:
    return ceil(sum(len(name) + len(str(value).encode()) for name, value in item.items()) / 1024)
