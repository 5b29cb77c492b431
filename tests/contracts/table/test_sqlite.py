"""What the SQLite engine promises beyond the port: its file, its readers, what it forgets."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hibernaut.adapters.table.limits import item_bytes
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.adapters.table.sqlite_rows import most_bytes, row
from hibernaut.ports.storage.table import Contended, Delete, Index, Key, Put, TableError, Update, Value
from tests.support.tables import all_items

A, B = Key("T#a", "1"), Key("T#b", "1")
HOUR = 3600


class Clock:
    """Epoch seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sqlite(tmp_path: Path, clock: Clock) -> Iterator[SqliteTable]:
    table = SqliteTable(tmp_path / "table.db", now=clock)
    yield table
    table.close()


def test_what_was_written_outlives_the_table(tmp_path: Path) -> None:
    first = SqliteTable(tmp_path / "table.db")
    first.write(Put({"pk": "T#a", "sk": "1", "body": "kept", "list_pk": "L", "list_sk": "1"}))
    first.close()
    again = SqliteTable(tmp_path / "table.db")
    assert again.get(A) == {"pk": "T#a", "sk": "1", "body": "kept", "list_pk": "L", "list_sk": "1"}
    assert len(again.query("L", index=Index.LISTS)) == 1
    again.close()


def _write_until_killed(path: Path, answered: multiprocessing.Queue[int]) -> None:
    table = SqliteTable(path)
    for number in range(1_000_000):
        table.write(Update(A, set={"n": number}), Put({"pk": "T#b", "sk": f"{number:07}"}))
        answered.put(number)


def test_a_killed_process_loses_nothing_that_was_answered_and_tears_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    answered: multiprocessing.Queue[int] = context.Queue()
    writer = context.Process(target=_write_until_killed, args=(tmp_path / "table.db", answered))
    writer.start()
    last = max(answered.get(timeout=60) for _ in range(200))
    os.kill(writer.pid or 0, signal.SIGKILL)
    writer.join()
    table = SqliteTable(tmp_path / "table.db")
    found = int((table.get(A) or {})["n"])
    assert found >= last
    assert len(table.query("T#b", names=("sk",))) == found + 1
    assert len(all_items(table)) == found + 2
    table.close()


def test_readers_do_not_wait_for_a_writer(sqlite: SqliteTable, tmp_path: Path) -> None:
    sqlite.write(Put({"pk": "T#a", "sk": "1", "n": 1}))
    other = sqlite3.connect(tmp_path / "table.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("DELETE FROM items")
    assert (sqlite.get(A) or {})["n"] == 1
    assert len(sqlite.query("T#a")) == 1
    other.execute("ROLLBACK")
    other.close()


def test_a_writer_does_not_wait_for_readers(sqlite: SqliteTable, tmp_path: Path) -> None:
    sqlite.write(Put({"pk": "T#a", "sk": "1", "n": 1}))
    sqlite._file._connections._writer[0].execute("PRAGMA busy_timeout = 1")
    other = sqlite3.connect(tmp_path / "table.db", isolation_level=None)
    other.execute("BEGIN")
    assert len(other.execute("SELECT * FROM items").fetchall()) == 1
    sqlite.write(Update(A, set={"n": 2}))
    other.execute("COMMIT")
    other.close()


def test_a_write_that_breaks_in_the_middle_is_undone(sqlite: SqliteTable, tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "table.db", isolation_level=None)
    sqlite.write(Put({"pk": "T#b", "sk": "1"}))
    other.execute("CREATE TRIGGER breaks BEFORE DELETE ON items BEGIN SELECT RAISE(ABORT, 'broken'); END")
    with pytest.raises(TableError, match="broken"):
        sqlite.write(Put({"pk": "T#a", "sk": "1"}), Delete(B))
    assert all_items(sqlite) == {B: {"pk": "T#b", "sk": "1"}}
    other.execute("DROP TRIGGER breaks")
    other.close()
    sqlite.write(Put({"pk": "T#a", "sk": "1"}), Delete(B))
    assert set(all_items(sqlite)) == {A}


def test_a_file_that_another_process_holds_is_contended(
    sqlite: SqliteTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sqlite._file._connections._writer[0].execute("PRAGMA busy_timeout = 1")
    other = sqlite3.connect(tmp_path / "table.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Contended):
        sqlite.write(Put({"pk": "T#a", "sk": "1"}))
    other.execute("ROLLBACK")
    other.close()
    sqlite.write(Put({"pk": "T#a", "sk": "1"}))


def test_threads_read_and_write_side_by_side(sqlite: SqliteTable) -> None:
    sqlite.write(Put({"pk": "T#a", "sk": "1", "n": 0}), Put({"pk": "T#a", "sk": "2", "n": 0}))
    barrier = threading.Barrier(4)
    torn: list[object] = []

    def read() -> None:
        barrier.wait()
        for _ in range(200):
            first, second = sqlite.query("T#a")
            if first["n"] != second["n"]:
                torn.append((first, second))

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    barrier.wait()
    for number in range(200):
        sqlite.write(Update(A, set={"n": number}), Update(Key("T#a", "2"), set={"n": number}))
    for reader in readers:
        reader.join()
    assert torn == []


def test_a_closed_table_answers_nothing(sqlite: SqliteTable) -> None:
    sqlite.close()
    for act in (lambda: sqlite.get(A), lambda: sqlite.write(Put({"pk": "T#a", "sk": "1"}))):
        with pytest.raises(TableError, match="closed"):
            act()


def test_closing_gives_the_file_back_whole(sqlite: SqliteTable, tmp_path: Path) -> None:
    sqlite.write(Put({"pk": "T#a", "sk": "1"}))
    sqlite.get(A)
    sqlite.close()
    assert [path.name for path in tmp_path.iterdir()] == ["table.db"]


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "table.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(TableError, match="format 99"):
        SqliteTable(tmp_path / "table.db")


def test_a_file_that_is_no_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "table.db").write_bytes(b"not a database at all, but long enough to be looked at" * 100)
    with pytest.raises(TableError):
        SqliteTable(tmp_path / "table.db")


def busy(table: SqliteTable, writes: int = 10) -> None:
    """A hundred changes a time, so that the table looks at what has expired."""
    for number in range(writes):
        table.write(*(Put({"pk": "T#busy", "sk": f"{place}", "n": number}) for place in range(100)))


def test_what_has_expired_is_dropped_in_time(sqlite: SqliteTable, clock: Clock) -> None:
    soon, later = int(clock.now) + HOUR, int(clock.now) + 3 * HOUR
    sqlite.write(*(Put({"pk": "T#a", "sk": f"{place}", "ttl": soon if place % 2 else later}) for place in range(6)))
    clock.now += 2 * HOUR
    busy(sqlite)
    assert [item["sk"] for item in sqlite.query("T#a")] == ["0", "2", "4"]


def test_an_item_lives_by_the_ttl_that_it_has_now(sqlite: SqliteTable, clock: Clock) -> None:
    soon, later = int(clock.now) + HOUR, int(clock.now) + 3 * HOUR
    sqlite.write(*(Put({"pk": "T#a", "sk": sk, "ttl": soon}) for sk in "123"), Put({"pk": "T#a", "sk": "4"}))
    sqlite.write(
        Update(A, set={"ttl": later}), Update(Key("T#a", "2"), remove=("ttl",)), Update(Key("T#a", "4"), set={"ttl": soon})
    )
    clock.now += 2 * HOUR
    busy(sqlite)
    assert [item["sk"] for item in sqlite.query("T#a")] == ["1", "2"]


def test_what_has_expired_while_the_table_was_closed_is_dropped_when_it_opens(tmp_path: Path, clock: Clock) -> None:
    never: list[tuple[str, Value]] = [("2", "tomorrow"), ("3", True), ("4", 10**30)]
    first = SqliteTable(tmp_path / "table.db", now=clock)
    first.write(
        Put({"pk": "T#a", "sk": "1", "ttl": int(clock.now) + 1}), *(Put({"pk": "T#a", "sk": sk, "ttl": ttl}) for sk, ttl in never)
    )
    first.close()
    clock.now += 10
    again = SqliteTable(tmp_path / "table.db", now=clock)
    assert [item["sk"] for item in again.query("T#a")] == ["2", "3", "4"]
    again.close()


def test_more_than_one_look_s_worth_of_expired_items_goes_look_by_look(sqlite: SqliteTable, clock: Clock) -> None:
    for start in range(0, 2500, 100):
        sqlite.write(*(Put({"pk": "T#a", "sk": f"{start + place:05}", "ttl": int(clock.now) + 1}) for place in range(100)))
    clock.now += 10
    busy(sqlite, 5)
    assert len(sqlite.query("T#a")) == 1500
    busy(sqlite, 10)
    assert sqlite.query("T#a") == []


def test_what_was_deleted_or_replaced_is_nowhere_in_the_file(sqlite: SqliteTable, tmp_path: Path) -> None:
    sqlite.write(Put({"pk": "T#a", "sk": "1", "body": "planted-1"}), Put({"pk": "T#b", "sk": "1", "body": "planted-2"}))
    sqlite.write(Update(A, set={"body": "other"}), Delete(B))
    sqlite.close()
    for file in tmp_path.iterdir():
        assert b"planted" not in file.read_bytes(), file.name


def test_the_copies_of_items_that_an_older_release_made_are_deleted_look_by_look(tmp_path: Path) -> None:
    SqliteTable(tmp_path / "table.db").close()
    older = sqlite3.connect(tmp_path / "table.db")
    copies = ((f"{number}",) for number in range(1500))
    older.executemany("INSERT INTO told (at, pk, sk, new_attributes, new_body) VALUES (1, 'T#a', ?, '{}', 'planted')", copies)
    older.commit()
    table = SqliteTable(tmp_path / "table.db")
    assert older.execute("SELECT count(*) FROM told").fetchone() == (500,)
    busy(table, 5)
    assert older.execute("SELECT count(*) FROM told").fetchone() == (0,)
    older.close()
    table.close()
    for file in tmp_path.iterdir():
        assert b"planted" not in file.read_bytes(), file.name


def test_a_table_that_nobody_holds_any_more_gives_its_connections_back(tmp_path: Path) -> None:
    table = SqliteTable(tmp_path / "t.db")
    table.get(Key("a", "b"))
    held = table._file._connections
    connections = [*held._writer, *(reader for reader, _ in held._idle)]
    del held
    assert len(connections) == 2
    del table
    gc.collect()
    for connection in connections:
        with pytest.raises(sqlite3.ProgrammingError):
            connection.execute("SELECT 1")


WORDS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=20)
TEXTS = st.builds(lambda word, times: word * times, WORDS, st.integers(1, 3000))
NUMBERS = st.one_of(st.booleans(), st.integers(-(10**38) + 1, 10**38 - 1))


@given(
    WORDS, WORDS, st.one_of(st.none(), TEXTS, NUMBERS), st.dictionaries(WORDS, st.one_of(st.just(""), TEXTS, NUMBERS), max_size=4)
)
def test_an_item_never_has_more_bytes_than_its_row_allows_for(
    pk: str, sk: str, body: Value | None, others: dict[str, Value]
) -> None:
    item: dict[str, Value] = {**others, "pk": pk, "sk": sk, **({} if body is None else {"body": body})}
    assume(
        all(
            isinstance(item.get(place, "x"), str) and item.get(place, "x") for place in ("due_pk", "due_sk", "list_pk", "list_sk")
        )
    )
    assert item_bytes(item) <= most_bytes(row(item))
