"""Tables that behave as badly as the port permits. Each wraps another table and passes the contract suite of the port.

Knows the port. Must not know the contents of a table.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from hibernaut.adapters.table.bounds import bounds
from hibernaut.adapters.table.dynamodb import DynamoDbTable
from hibernaut.adapters.table.dynamodb_requests import plain_item
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.adapters.table.sqlite_rows import keyed
from hibernaut.ports.storage.table import Change, Check, Index, Item, Key, OutcomeUnknown, Query, Table

T = TypeVar("T")


class PassesOn:
    """A table that forwards every call to another one."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, key: Key) -> Item | None:
        return self._table.get(key)

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        return self._table.get_many(keys)

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
        return self._table.query(
            pk, index=index, after=after, before=before, prefix=prefix, limit=limit, descending=descending, names=names
        )

    def query_many(self, queries: Sequence[Query]) -> list[list[Item]]:
        return [one.run(self.query) for one in queries]

    def count(self, pk: str, *, prefix: str = "", having: str = "pk") -> int:
        return self._table.count(pk, prefix=prefix, having=having)

    def write(self, *changes: Change) -> None:
        self._table.write(*changes)


class Recorded(PassesOn):
    """A table that records each item after each write that changed it (None: it was deleted), for one writer at a time."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.versions: list[tuple[Key, Item | None]] = []

    def write(self, *changes: Change) -> None:
        super().write(*changes)
        self.versions += [(each.key, self._table.get(each.key)) for each in changes if not isinstance(each, Check)]


def all_items(table: Table) -> dict[Key, Item]:
    """Every item of a table in a file or in DynamoDB."""
    if isinstance(table, SqliteTable):
        return keyed(table._file.read("SELECT pk, sk, attributes, body FROM items", ()))
    assert isinstance(table, DynamoDbTable)
    return {Key(str(item["pk"]), str(item["sk"])): item for item in scanned(table._dynamodb(), table._name)}


def scanned(client: Any, table: str) -> Iterator[Item]:
    """The items of a table in DynamoDB, by a scan with consistent reads."""
    pages = client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    return (plain_item(item) for page in pages for item in page["Items"])


class Watched(PassesOn):
    """A table on which something happens before or after one write."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.writes, self.at, self.act, self.after = 0, -1, lambda: None, False

    def write(self, *changes: Change) -> None:
        mine = self.writes == self.at
        self.writes += 1
        if mine and not self.after:
            self.act()
        super().write(*changes)
        if mine and self.after:
            self.act()


class LosesResponses(PassesOn):
    """Raises OutcomeUnknown at chosen writes, counted from 1: `after` the write was done, or `before` it, as if it never
    arrived.
    """

    def __init__(self, table: Table, *, after: Collection[int] = (), before: Collection[int] = ()) -> None:
        super().__init__(table)
        self._after, self._before = after, before
        self._count = itertools.count(1)

    def write(self, *changes: Change) -> None:
        number = next(self._count)
        if number in self._before:
            raise OutcomeUnknown(f"write {number}: the request is lost")
        self._table.write(*changes)
        if number in self._after:
            raise OutcomeUnknown(f"write {number}: the answer is lost")


class CountingTable(PassesOn):
    """Calls `on_call(n, kind)` before and after every call: n counts from 1, and kind is, for example, "before write" or "after
    query".

    An exception of `on_call` goes to the caller: before a write nothing is done, after it everything. It may also end the
    process.
    """

    def __init__(self, table: Table, on_call: Callable[[int, str], None]) -> None:
        super().__init__(table)
        self._on_call = on_call
        self._count = itertools.count(1)

    def get(self, key: Key) -> Item | None:
        return self._told("get", lambda: super(CountingTable, self).get(key))

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        return self._told("get_many", lambda: super(CountingTable, self).get_many(keys))

    def query(self, pk: str, **asked: object) -> list[Item]:
        return self._told("query", lambda: super(CountingTable, self).query(pk, **asked))  # type: ignore[arg-type]

    def count(self, pk: str, *, prefix: str = "", having: str = "pk") -> int:
        return self._told("count", lambda: super(CountingTable, self).count(pk, prefix=prefix, having=having))

    def write(self, *changes: Change) -> None:
        self._told("write", lambda: super(CountingTable, self).write(*changes))

    def _told(self, kind: str, call: Callable[[], T]) -> T:
        self._on_call(next(self._count), f"before {kind}")
        answer = call()
        self._on_call(next(self._count), f"after {kind}")
        return answer


class RevealsSlowly(PassesOn):
    """Makes the items of a transaction visible to readers one by one, while `write` executes. Conditions see the true state.

    `order` chooses the order of the keys. `meanwhile` is called at every moment at which a reader could read: before the first
    item is visible, and after each one. Its own writes are visible at once. Threads that read during a slow `write` see the same
    states.
    """

    def __init__(
        self,
        table: Table,
        *,
        order: Callable[[Sequence[Key]], Iterable[Key]] = tuple,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(table)
        self._order, self._meanwhile = order, meanwhile
        self._hidden: dict[Key, Item | None] = {}
        self._lock = threading.RLock()
        self._here = threading.local()

    def write(self, *changes: Change) -> None:
        keys = [change.key for change in changes if not isinstance(change, Check)]
        slow = len(changes) > 1 and not getattr(self._here, "revealing", False)
        with self._lock:
            before = self._table.get_many(keys) if slow else {}
            self._table.write(*changes)
            for key in keys:
                self._hidden.pop(key, None)
            if slow:
                self._hidden |= {key: before.get(key) for key in keys}
        if slow:
            self._reveal(self._order(keys))

    def get(self, key: Key) -> Item | None:
        with self._lock:
            return self._hidden[key] if key in self._hidden else self._table.get(key)

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        with self._lock:
            found = self._table.get_many(keys) | {key: self._hidden[key] for key in keys if key in self._hidden}
        return {key: item for key, item in found.items() if item is not None}

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
        with self._lock:
            seen = self._table.query(pk, index=index, after=after, before=before, prefix=prefix)
            found = [item for item in seen if Key(str(item["pk"]), str(item["sk"])) not in self._hidden]
            for item in self._hidden.values():
                if item is not None and item.get(f"{place}pk") == pk and asked.admits(str(item.get(f"{place}sk", ""))):
                    found.append(item)
        found = [item for item in found if f"{place}sk" in item]
        found.sort(key=lambda item: str(item[f"{place}sk"]), reverse=descending)
        kept = {"pk", "sk", f"{place}pk", f"{place}sk"} if index is not None or names else None
        return [
            {name: value for name, value in item.items() if kept is None or name in kept or (index is None and name in names)}
            for item in found[:limit]
        ]

    def count(self, pk: str, *, prefix: str = "", having: str = "pk") -> int:
        return sum(having in item for item in self.query(pk, prefix=prefix))

    def _reveal(self, order: Iterable[Key]) -> None:
        self._here.revealing = True
        try:
            self._meanwhile()
            for key in order:
                with self._lock:
                    self._hidden.pop(key, None)
                self._meanwhile()
        finally:
            self._here.revealing = False
