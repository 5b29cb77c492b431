"""A table that nobody writes any more, as a verdict reads it: each question is put to the engine once."""

from __future__ import annotations

from hibernaut.ports.storage.table import Item, Key, Table
from tests.support.tables import PassesOn


class TableAtRest(PassesOn):
    """A table that answers a repeated `get` or `query` from memory. Only for a table that does not change while this object is used."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self._items: dict[Key, Item | None] = {}
        self._pages: dict[tuple[object, ...], list[Item]] = {}

    def get(self, key: Key) -> Item | None:
        if key not in self._items:
            self._items[key] = self._table.get(key)
        return self._items[key]

    def query(self, pk: str, **asked: object) -> list[Item]:
        named = (pk, *((name, tuple(value) if name == "names" else value) for name, value in sorted(asked.items())))  # type: ignore[arg-type]
        if named not in self._pages:
            self._pages[named] = self._table.query(pk, **asked)  # type: ignore[arg-type]
        return self._pages[named]
