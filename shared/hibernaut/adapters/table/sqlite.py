"""The table in one SQLite file: the embedded engine.

Knows: the implementation of the port's guarantees in SQLite. Must not know: the contents of the table, or how only
one process opens the file.

The number of a write's statements does not depend on the number of its changes, because each statement may switch threads
while the writer's lock is held: it reads all items, decides in Python, and writes all items.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from hibernaut.adapters.table.bounds import Bounds, bounds
from hibernaut.adapters.table.conditions import applied, holds
from hibernaut.adapters.table.limits import check, check_stored
from hibernaut.adapters.table.sqlite_file import SqliteFile
from hibernaut.adapters.table.sqlite_rows import Row, Stored, flat, item, items, keyed, most_bytes, places, row, within
from hibernaut.ports.storage.table import Change, Check, ConditionFailed, Index, Item, Key, Put, Query, TableError, Update

logger = logging.getLogger(__name__)
_KEYS_AT_ONCE = 500
_TIDY_EVERY = 500
"""Changes between two looks at what has expired. A look drops at most twice as many: it keeps up, and no write waits long."""

_Effect = tuple[Key, Row | None]
"""The effect of one change: its key and the new item."""


class SqliteTable:
    """The engine over the file at `path`, whose folder exists. `now` answers epoch seconds."""

    def __init__(self, path: Path, *, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._file = SqliteFile(path, now=now)
        self._untidied = 0
        self._tidy()

    def close(self) -> None:
        """Wait for the current write and close the file. Later calls raise TableError."""
        self._file.close()

    def get(self, key: Key) -> Item | None:
        rows = self._file.read("SELECT attributes, body FROM items WHERE pk = ? AND sk = ?", key)
        return item(key.pk, key.sk, rows[0]) if rows else None

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        unique = list(dict.fromkeys(keys))
        found: dict[Key, Item] = {}
        for start in range(0, len(unique), _KEYS_AT_ONCE):
            page = unique[start : start + _KEYS_AT_ONCE]
            found |= keyed(self._file.read(_select(len(page)), flat(page)))
        return found

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
        key_range = bounds(after, before, prefix)
        if key_range.nothing or limit == 0:
            return []
        end = f"{'DESC' if descending else 'ASC'} LIMIT {-1 if limit is None else limit}"
        if index is not None:
            return self._query_index(index, pk, key_range, end)
        body = "body" if not names or "body" in names else "NULL"
        where, values = within(("pk", "sk"), pk, key_range)
        return items(
            pk, self._file.read(f"SELECT sk, attributes, {body} FROM items WHERE {where} ORDER BY sk {end}", values), names
        )

    def query_many(self, queries: Sequence[Query]) -> list[list[Item]]:
        return [one.run(self.query) for one in queries]

    def count(self, pk: str, *, prefix: str = "", having: str = "pk") -> int:
        key_range = bounds(None, None, prefix)
        where, values = within(("pk", "sk"), pk, key_range)
        if having not in ("pk", "sk"):
            where += " AND (json_type(attributes, ?) IS NOT NULL" + (" OR body IS NOT NULL)" if having == "body" else ")")
            values.append(f'$."{having}"')
        ((found,),) = self._file.read(f"SELECT count(*) FROM items WHERE {where}", values)
        return int(found)

    def write(self, *changes: Change) -> None:
        check(changes)
        with self._file.transaction() as writer:
            _store(writer, _effects(writer, changes))
        self._untidied += len(changes)
        if self._untidied >= _TIDY_EVERY:
            self._tidied()

    def _query_index(self, index: Index, pk: str, key_range: Bounds, end: str) -> list[Item]:
        index_pk, index_sk = f"{index}_pk", f"{index}_sk"
        where, values = within((index_pk, index_sk), pk, key_range)
        rows = self._file.read(
            f"SELECT pk, sk, {index_sk} FROM items WHERE {where} AND {index_sk} IS NOT NULL ORDER BY {index_sk} {end}", values
        )
        return [{"pk": own_pk, "sk": own_sk, index_pk: pk, index_sk: place} for own_pk, own_sk, place in rows]

    def _tidied(self) -> None:
        """Tidy behind a write that is committed: it has succeeded, whatever comes of this. The next look does what this one could
        not.
        """
        try:
            self._tidy()
        except TableError as error:
            logger.warning("table not tidied", extra={"error": type(error).__qualname__})

    def _tidy(self) -> None:
        """Delete a bounded number of expired items, and of the copies of changed items that release 0.1 made."""
        self._untidied = 0
        with self._file.transaction() as writer:
            writer.execute("DELETE FROM told WHERE cursor IN (SELECT cursor FROM told LIMIT ?)", (2 * _TIDY_EVERY,))
            expired = "SELECT pk, sk FROM items WHERE ttl < ? ORDER BY ttl LIMIT ?"
            writer.execute(f"DELETE FROM items WHERE (pk, sk) IN ({expired})", (int(self._now()), 2 * _TIDY_EVERY))


def _effects(writer: sqlite3.Connection, changes: Sequence[Change]) -> list[_Effect]:
    """The effects of the changes on the current items. Changes without effect are omitted.

    Raises: ConditionFailed, TooLarge, ValueError.
    """
    keys = [change.key for change in changes]
    stored: dict[tuple[str, str], Stored] = {
        (pk, sk): (attributes, body) for pk, sk, attributes, body in writer.execute(_select(len(keys)), flat(keys))
    }
    failed: dict[int, Item | None] = {}
    olds: list[Item | None] = []
    for place, (change, at) in enumerate(zip(changes, keys, strict=True)):
        there = stored.get(at)
        # An item is decoded only where something looks at it.
        looked_at = there is not None and (bool(change.when) or not isinstance(change, Put))
        olds.append(item(at.pk, at.sk, there) if there is not None and looked_at else None)
        if not holds(change.when, olds[place]):
            failed[place] = olds[place]
    if failed:
        raise ConditionFailed(failed)
    effects = [
        _effect(change, old, stored.get(at))
        for change, old, at in zip(changes, olds, keys, strict=True)
        if not isinstance(change, Check)
    ]
    return [effect for effect in effects if effect is not None]


def _effect(change: Change, old: Item | None, there: Stored | None) -> _Effect | None:
    after = applied(change, old)
    if after is None:
        return None if there is None else (change.key, None)
    new = row(after)
    if isinstance(change, Update):
        check_stored(after, most_bytes(new))
    return None if there == new[-2:] else (change.key, new)


def _store(writer: sqlite3.Connection, effects: Sequence[_Effect]) -> None:
    """Write all effects."""
    if rows := [new for _, new in effects if new is not None]:
        writer.execute(
            f"INSERT INTO items VALUES {places(len(rows), len(rows[0]))} ON CONFLICT (pk, sk) DO UPDATE SET "
            "due_pk = excluded.due_pk, due_sk = excluded.due_sk, list_pk = excluded.list_pk, list_sk = excluded.list_sk, "
            "ttl = excluded.ttl, attributes = excluded.attributes, body = excluded.body",
            flat(rows),
        )
    if deleted := [at for at, new in effects if new is None]:
        writer.execute(f"DELETE FROM items WHERE (pk, sk) IN (SELECT * FROM (VALUES {places(len(deleted), 2)}))", flat(deleted))


def _select(count: int) -> str:
    """The query for items by their keys. A join, because SQLite scans the whole table for `(pk, sk) IN (VALUES ...)`."""
    keys = f"WITH k (p, s) AS (VALUES {places(count, 2)})"
    return f"{keys} SELECT pk, sk, attributes, body FROM k CROSS JOIN items ON pk = p AND sk = s"
