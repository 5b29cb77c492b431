"""The SQLite file of an index and its connections: one writer, and readers that see one moment and wait for nobody.

Knows: SQLite's connections and settings. An index is derived from the table: a file that cannot be read, or has another format, is
made anew. Must not know: documents.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hibernaut.adapters.memory_index.sqlite_schema import FILE, FORMAT
from hibernaut.ports.memory_index import IndexAsleep

_SETTINGS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",  # a power cut may forget the last commits: the table knows what they held
    "PRAGMA wal_autocheckpoint = 4000",
)
_SECONDS_FOR_A_LOCK = 5.0


class SqliteIndexFile:
    """The file at `path`, whose folder exists. Thread-safe. `made_anew`: it was not there, or could not be used."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._closed = False
        self._turn = threading.Lock()
        self._idle: deque[sqlite3.Connection] = deque()
        self._writer, self.made_anew = self._opened()
        weakref.finalize(self, _close_all, self._idle, self._writer)

    def close(self) -> None:
        """Wait for the write under way and give the file back. What is asked afterwards raises IndexAsleep."""
        with self._turn:
            self._closed = True
            _close_all(self._idle, self._writer)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees the index as the last completed write left it, whatever is written meanwhile."""
        with _translated():
            connection = self._reader()
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                self._idle.append(connection)
                if self._closed:
                    _close_all(self._idle)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The writer's connection in a transaction, for one thread at a time: committed at the end, rolled back by any exception."""
        with self._turn, _translated():
            self._refuse_closed()
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                yield self._writer
                self._writer.execute("COMMIT")
            finally:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")

    def _reader(self) -> sqlite3.Connection:
        self._refuse_closed()
        try:
            return self._idle.pop()
        except IndexError:
            return self._connected()

    def _refuse_closed(self) -> None:
        if self._closed:
            raise IndexAsleep("the index is closed")

    def _opened(self) -> tuple[sqlite3.Connection, bool]:
        there = self._path.exists()
        try:
            writer = self._connected()
            (found,) = writer.execute("PRAGMA user_version").fetchone()
        except sqlite3.OperationalError as error:
            raise IndexAsleep(f"{self._path.name}: {error}") from error
        except sqlite3.DatabaseError:  # not a database, or damaged
            return self._remade(), True
        if found == FORMAT:
            return writer, False
        if there and found:
            writer.close()
            return self._remade(), True
        writer.executescript(FILE)
        return writer, True

    def _remade(self) -> sqlite3.Connection:
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        writer = self._connected()
        writer.executescript(FILE)
        return writer

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=_SECONDS_FOR_A_LOCK, isolation_level=None, check_same_thread=False)
        try:
            for setting in _SETTINGS:
                connection.execute(setting)
        except sqlite3.DatabaseError:
            connection.close()
            raise
        return connection


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise IndexAsleep(f"{type(error).__name__}: {error}") from error


def _close_all(idle: deque[sqlite3.Connection], *others: sqlite3.Connection) -> None:
    while True:
        try:
            idle.pop().close()
        except IndexError:
            break
    for connection in others:
        connection.close()
