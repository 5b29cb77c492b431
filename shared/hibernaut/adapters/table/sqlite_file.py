"""One SQLite file and its connections: a writer, and readers that never wait for it.

Knows: SQLite's connections and settings. Must not know: items.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hibernaut.adapters.table.sqlite_rows import FORMAT, SCHEMA
from hibernaut.ports.table import Contended, TableError

_SETTINGS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",  # a commit reaches the operating system, not yet the disk: a killed process loses nothing
    "PRAGMA wal_autocheckpoint = 4000",  # pages: the fsync of a checkpoint comes once in hundreds of transactions
)
_SECONDS_FOR_A_LOCK = 5.0
_STATEMENTS = 512


class FormatUnknown(TableError):
    """The file was written by another version of this engine."""


class SqliteFile:
    """The file at `path`, whose folder exists; made where it is missing. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._closed = False
        self._turn = threading.Lock()
        self._idle: deque[sqlite3.Connection] = deque()
        self._writer = self._connect()
        try:
            self._prepare()
        except BaseException:  # whatever stops it, the file must not stay open behind it
            self._writer.close()
            raise
        weakref.finalize(self, _close_all, self._idle, self._writer)  # a file that nobody holds any more is given back too

    def close(self) -> None:
        """Wait for the write under way and give the file back. What is asked afterwards raises TableError."""
        with self._turn:
            self._closed = True
            self._close_idle()
            self._writer.close()

    def read(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """All rows of one statement, as the last completed write left them."""
        connection = self._reader()
        try:
            return connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise TableError(str(error)) from error
        finally:
            self._idle.append(connection)
            if self._closed:
                self._close_idle()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """The writer's connection in a transaction, for one thread at a time: committed at the end, rolled back by any exception.

        Raises: Contended where another process holds the file, TableError for what else SQLite refuses.
        """
        with self._turn:
            if self._closed:
                raise TableError("the table is closed")
            writer = self._writer
            try:
                writer.execute("BEGIN IMMEDIATE")
                yield writer
                writer.execute("COMMIT")
            except sqlite3.Error as error:
                busy = error.sqlite_errorcode == sqlite3.SQLITE_BUSY
                raise (Contended if busy else TableError)(str(error)) from error
            finally:
                if writer.in_transaction:
                    writer.execute("ROLLBACK")

    def _reader(self) -> sqlite3.Connection:
        if self._closed:
            raise TableError("the table is closed")
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect()

    def _close_idle(self) -> None:
        _close_all(self._idle)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=_SECONDS_FOR_A_LOCK, isolation_level=None, check_same_thread=False, cached_statements=_STATEMENTS
        )
        try:
            for setting in _SETTINGS:
                connection.execute(setting)
        except sqlite3.DatabaseError as error:
            connection.close()
            raise TableError(f"{self._path.name}: {error}") from error
        return connection

    def _prepare(self) -> None:
        try:
            (found,) = self._writer.execute("PRAGMA user_version").fetchone()
            if found == 0:
                self._writer.executescript(SCHEMA)
        except sqlite3.DatabaseError as error:
            raise TableError(f"{self._path.name}: {error}") from error
        if found not in (0, FORMAT):
            raise FormatUnknown(f"{self._path.name} has format {found}, this version reads format {FORMAT}")


def _close_all(idle: deque[sqlite3.Connection], *others: sqlite3.Connection) -> None:
    while True:
        try:
            idle.pop().close()
        except IndexError:
            break
    for connection in others:
        connection.close()
