"""How many connections a file of SQLite has, and what comes of those who find none free."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hibernaut.adapters.memory_index.sqlite_file import SqliteIndexFile
from hibernaut.adapters.sqlite_connections import (
    IDLE_SECONDS,
    READERS,
    ConnectionsClosed,
    NoConnectionFree,
    SqliteConnections,
    connected,
)
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.adapters.table.sqlite_file import SqliteFile
from hibernaut.ports.memory.memory_index import IndexAsleep
from hibernaut.ports.storage.table import Contended, Key, Put
from tests.support.clocks import ManualClock

ONE = "SELECT 1"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def file(tmp_path: Path, clock: ManualClock) -> Iterator[SqliteConnections]:
    path = tmp_path / "file.db"
    found = SqliteConnections(path, connected(path), readers=3, wait=0, now=clock.monotonic)
    yield found
    found.close()


def opened(path: Path) -> int:
    """How many connections of this process have the file open."""
    return sum(target == str(path) for target in map(_target, os.listdir("/proc/self/fd")))


def _target(number: str) -> str:
    """What a descriptor leads to; "" where it was closed since."""
    try:
        return os.readlink(f"/proc/self/fd/{number}")
    except OSError:
        return ""


def test_a_burst_of_readers_opens_no_more_connections_than_the_pool_has(tmp_path: Path) -> None:
    table = SqliteTable(tmp_path / "table.db")
    table.write(*(Put({"pk": "T#a", "sk": f"{number:03d}", "body": "x" * 1000}) for number in range(90)))
    barrier, most, errors = threading.Barrier(200), [0] * 200, []

    def read(place: int) -> None:
        barrier.wait()
        try:
            assert len(table.query("T#a")) == 90
        except Exception as error:  # noqa: BLE001  shown by the test
            errors.append(error)
        most[place] = opened(tmp_path / "table.db")

    threads = [threading.Thread(target=read, args=[place]) for place in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert max(most) <= 9
    table.close()
    assert opened(tmp_path / "table.db") == 0


def test_whoever_finds_no_reader_free_is_told_so(file: SqliteConnections) -> None:
    with ExitStack() as held:
        for _ in range(3):
            held.enter_context(file.reading())
        with pytest.raises(NoConnectionFree), file.reading():
            pass
    with file.reading() as reader:
        assert reader.execute(ONE).fetchone() == (1,)


def test_whoever_waits_gets_the_reader_that_comes_free(tmp_path: Path) -> None:
    path = tmp_path / "file.db"
    file = SqliteConnections(path, connected(path), readers=1, wait=30)
    asks, answers = threading.Event(), []

    def wait() -> None:
        asks.set()
        with file.reading() as reader:
            answers.append(reader.execute(ONE).fetchone())

    with file.reading():
        waiting = threading.Thread(target=wait)
        waiting.start()
        assert asks.wait(30)
        assert answers == []
    waiting.join(30)
    assert answers == [(1,)]
    file.close()


def test_a_write_that_holds_the_file_too_long_refuses_the_next(file: SqliteConnections) -> None:
    with file.writing(), pytest.raises(NoConnectionFree), file.writing():
        pass
    with file.writing() as writer:
        writer.execute(ONE)


def test_readers_that_nobody_needs_any_more_are_closed(file: SqliteConnections, clock: ManualClock) -> None:
    with ExitStack() as held:
        for _ in range(3):
            held.enter_context(file.reading())
    assert file.readers == 3
    clock.sleep(IDLE_SECONDS - 1)
    with file.reading():
        pass
    assert file.readers == 3
    clock.sleep(2)
    with file.reading():
        pass
    assert file.readers == 1
    with ExitStack() as held:
        for _ in range(3):
            held.enter_context(file.reading())
        assert file.readers == 3


def test_a_reader_that_failed_is_not_used_again(file: SqliteConnections) -> None:
    for _ in range(10):
        with pytest.raises(sqlite3.OperationalError), file.reading() as reader:
            reader.execute("SELECT nothing FROM nowhere")
    with file.reading() as reader:
        assert reader.execute(ONE).fetchone() == (1,)


def test_a_reader_does_not_keep_what_it_saw(file: SqliteConnections) -> None:
    with file.writing() as writer:
        writer.execute("CREATE TABLE t (n)")
    for expected in (0, 1):
        with file.reading() as reader:
            reader.execute("BEGIN")
            assert reader.execute("SELECT count(*) FROM t").fetchone() == (expected,)
        with file.writing() as writer:
            writer.execute("INSERT INTO t VALUES (1)")


def test_closing_ends_those_who_wait_and_those_who_read(tmp_path: Path) -> None:
    path = tmp_path / "file.db"
    file = SqliteConnections(path, connected(path), readers=1, wait=30)
    refused = threading.Event()

    def wait() -> None:
        try:
            with file.reading():
                pass
        except ConnectionsClosed:
            refused.set()

    with file.reading() as reader:
        waiting = threading.Thread(target=wait)
        waiting.start()
        file.close()
        assert refused.wait(30)
        assert reader.execute(ONE).fetchone() == (1,)
    waiting.join(30)
    assert opened(path) == 0


def test_the_table_says_that_it_is_busy_and_the_index_that_it_is_asleep(tmp_path: Path) -> None:
    table, index = SqliteFile(tmp_path / "table.db"), SqliteIndexFile(tmp_path / "index.db")
    for file in (table, index):
        file._connections._wait = 0
    with ExitStack() as held:
        for _ in range(READERS):
            held.enter_context(table._connections.reading())
            held.enter_context(index.reading())
        with pytest.raises(Contended):
            table.read(ONE, ())
        with pytest.raises(IndexAsleep), index.reading():
            pass
    table.close()
    index.close()


def test_pages_that_a_connection_keeps_are_bounded(tmp_path: Path) -> None:
    table = SqliteTable(tmp_path / "table.db")
    assert table.get(Key("T#a", "1")) is None
    with table._file._connections.reading() as reader:
        assert reader.execute("PRAGMA cache_size").fetchone() == (-2000,)
    table.close()


@pytest.mark.skipif(sys.platform == "win32", reason="the limit of open files is POSIX")
def test_a_large_statement_opens_no_temporary_file(tmp_path: Path) -> None:
    import resource

    table = SqliteTable(tmp_path / "table.db")
    changes = [[Put({"pk": "T#a", "sk": f"{number:02}", "body": text * 3_000}) for number in range(80)] for text in "xy"]
    table.write(*changes[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            os.open(os.devnull, os.O_RDONLY)
        table.write(*changes[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert str((table.get(Key("T#a", "07")) or {})["body"])[0] == "y"
    table.close()
