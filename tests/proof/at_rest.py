"""A table that nobody writes any more, as a verdict reads it: each question is put to the engine once, or all items are read in
one go.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hibernaut.adapters.table.bounds import bounds
from hibernaut.ports.storage.table import Change, Index, Item, Key, Query, Table
from tests.support.tables import PassesOn, scanned

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class TableAtRest(PassesOn):
    """A table that answers a repeated `get` or `query` from memory. Only for a table that does not change while this object is
    used.
    """

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


class CopiedTable:
    """The items of a table in memory, for reading: it answers as an engine that has these items. Where a request to the engine
    takes milliseconds, one scan takes the place of the hundred reads of a verdict.
    """

    def __init__(self, items: Iterable[Item]) -> None:
        self._items = {Key(str(item["pk"]), str(item["sk"])): item for item in items}
        self._partitions: dict[tuple[str, str], list[Item]] = defaultdict(list)
        for item in self._items.values():
            for place in ("", *(f"{index}_" for index in Index)):
                if f"{place}pk" in item and f"{place}sk" in item:
                    self._partitions[place, str(item[f"{place}pk"])].append(item)
        for (place, _), found in self._partitions.items():
            found.sort(key=lambda item, sk=f"{place}sk": (str(item[sk]), str(item["pk"]), str(item["sk"])))  # type: ignore[misc]

    def get(self, key: Key) -> Item | None:
        item = self._items.get(key)
        return dict(item) if item is not None else None

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        return {key: dict(self._items[key]) for key in keys if key in self._items}

    def query(
        self,
        pk: str,
        *,
        index: Index | None = None,
        after: str | None = None,
        before: str | None = None,
        prefix: str = "",
        limit: int | None = None,
        descending: bool = False,
        names: Sequence[str] = (),
    ) -> list[Item]:
        place = "" if index is None else f"{index}_"
        asked = bounds(after, before, prefix)
        found = [] if asked.nothing else [i for i in self._partitions.get((place, pk), []) if asked.admits(str(i[f"{place}sk"]))]
        if descending:
            found.reverse()
        kept = {"pk", "sk", f"{place}pk", f"{place}sk"} if index is not None else {"pk", "sk", *names} if names else None
        return [{name: value for name, value in item.items() if kept is None or name in kept} for item in found[:limit]]

    def query_many(self, queries: Sequence[Query]) -> list[list[Item]]:
        return [one.run(self.query) for one in queries]

    def count(self, pk: str, *, prefix: str = "", having: str = "pk") -> int:
        return sum(having in item for item in self.query(pk, prefix=prefix))

    def write(self, *_: Change) -> None:
        raise AssertionError("a verdict writes")


def copied(client: DynamoDBClient, table: str) -> CopiedTable:
    """All items of a table in DynamoDB."""
    return CopiedTable(scanned(client, table))
