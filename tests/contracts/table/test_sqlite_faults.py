"""What SQLite itself may refuse, statement by statement: a write that raises has done nothing, unless it says that nobody
knows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hibernaut.adapters.table import sqlite as engine
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.ports.storage.table import ABSENT, ConditionFailed, Key, OutcomeUnknown, Put, TableError

A, B = Key("T#a", "1"), Key("T#b", "2")
MOST_STATEMENTS = 40


class Faults:
    """Fails the chosen statement, counted from 1 when it is armed: before it is executed, or after."""

    def __init__(self) -> None:
        self.count = 0
        self.fails: int | None = None
        self.after = False
        self.failed = ""

    def arm(self, number: int, *, after: bool) -> None:
        self.count, self.fails, self.after, self.failed = 0, number, after, ""

    def around(self, sql: str, execute: Callable[[], sqlite3.Cursor]) -> sqlite3.Cursor:
        self.count += 1
        struck = self.count == self.fails
        if struck and not self.after:
            raise self._error(sql)
        cursor = execute()
        if struck:
            cursor.close()
            raise self._error(sql)
        return cursor

    def _error(self, sql: str) -> sqlite3.OperationalError:
        self.failed = sql
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR  # type: ignore[misc]
        return error


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    chosen = Faults()

    class Connection(sqlite3.Connection):
        def execute(self, sql: str, values: Sequence[Any] = (), /) -> sqlite3.Cursor:
            return chosen.around(sql, lambda: super(Connection, self).execute(sql, values))

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Connection))
    monkeypatch.setattr(engine, "_TIDY_EVERY", 2)
    return chosen


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("number", range(1, MOST_STATEMENTS))
def test_a_write_that_raises_has_done_nothing(tmp_path: Path, faults: Faults, number: int, after: bool) -> None:
    table = SqliteTable(tmp_path / "table.db")
    table.write(Put({"pk": "T#old", "sk": "1", "ttl": 1}))
    faults.arm(number, after=after)
    told = known = False
    try:
        table.write(Put({"pk": A.pk, "sk": A.sk}, ABSENT), Put({"pk": B.pk, "sk": B.sk}, ABSENT))
        told = known = True
    except OutcomeUnknown:
        told = True
    except TableError:
        known = True
    faults.fails = None
    there = table.get_many([A, B])
    assert told or known
    if not known:
        assert faults.failed == "COMMIT"
    elif told:
        assert set(there) == {A, B}
    else:
        assert there == {}
    # The table goes on, and a writer without a token who tries again is told the truth.
    again = table.write
    if there:
        with pytest.raises(ConditionFailed):
            again(Put({"pk": A.pk, "sk": A.sk}, ABSENT))
    else:
        again(Put({"pk": A.pk, "sk": A.sk}, ABSENT))
    table.close()


def test_the_statements_of_a_write_and_its_tidying_are_all_struck(tmp_path: Path, faults: Faults) -> None:
    """The range above reaches beyond the last statement of a write that tidies."""
    table = SqliteTable(tmp_path / "table.db")
    table.write(Put({"pk": "T#old", "sk": "1", "ttl": 1}))
    faults.arm(0, after=False)
    table.write(Put({"pk": A.pk, "sk": A.sk}), Put({"pk": B.pk, "sk": B.sk}))
    assert 7 < faults.count < MOST_STATEMENTS
    table.close()


def test_what_could_not_be_tidied_is_tidied_later(tmp_path: Path, faults: Faults) -> None:
    table = SqliteTable(tmp_path / "table.db")
    table.write(Put({"pk": "T#old", "sk": "1", "ttl": 1}))
    faults.arm(6, after=False)
    table.write(Put({"pk": A.pk, "sk": A.sk}), Put({"pk": B.pk, "sk": B.sk}))
    assert faults.failed.startswith(("BEGIN", "DELETE FROM told"))
    assert table.get(Key("T#old", "1")) is not None
    faults.fails = None
    table.write(Put({"pk": "T#c", "sk": "1"}), Put({"pk": "T#d", "sk": "1"}))
    assert table.get(Key("T#old", "1")) is None
    table.close()
