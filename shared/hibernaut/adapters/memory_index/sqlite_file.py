"""The SQLite file of an index. Each reader sees a snapshot and never waits for a writer.

Knows: the file's format and the errors of its connections. An index is derived from the table: an unreadable file, or one with
another format, is created anew; one of the format before is brought to today's. Must not know: documents.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hibernaut.adapters.memory_index.sqlite_schema import FILE, FORMAT, UPGRADABLE, upgrade
from hibernaut.adapters.sqlite_connections import (
    CommitUnknown,
    ConnectionsClosed,
    NoConnectionFree,
    SqliteConnections,
    connected,
)
from hibernaut.ports.memory.memory_index import IndexAsleep


class SqliteIndexFile:
    """The file at `path`, whose folder exists. Thread-safe. `is_new`: it was missing or unusable."""

    def __init__(self, path: Path) -> None:
        writer, self.is_new = _opened(path)
        self._connections = SqliteConnections(path, writer)

    def close(self) -> None:
        """Wait for the current write and close the file. Later calls raise IndexAsleep."""
        self._connections.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees a snapshot of the index after the last completed write.

        Raises: IndexAsleep, also if no reader becomes free.
        """
        with _translated(), self._connections.reading() as connection:
            connection.execute("BEGIN")
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The writer's connection in a transaction, for one thread at a time: committed at the end, rolled back by any exception.

        Raises: IndexAsleep.
        """
        with _translated(), self._connections.writing() as writer:
            yield writer


def _opened(path: Path) -> tuple[sqlite3.Connection, bool]:
    """A connection to the file, and whether the file was created anew."""
    there = path.exists()
    try:
        writer = connected(path)
        (found,) = writer.execute("PRAGMA user_version").fetchone()
    except sqlite3.OperationalError as error:
        raise IndexAsleep(f"{path.name}: {error}") from error
    except sqlite3.DatabaseError:  # not a database, or damaged
        return _remade(path), True
    if found == FORMAT:
        return writer, False
    if found == UPGRADABLE and _upgraded(writer):
        return writer, False
    if there and found:
        writer.close()
        return _remade(path), True
    writer.executescript(FILE)
    return writer, True


def _upgraded(writer: sqlite3.Connection) -> bool:
    """False for a file that is damaged. Raises: IndexAsleep if another process writes to it, which may be upgrading it."""
    try:
        writer.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        raise IndexAsleep(f"the index is not upgraded: {error}") from error
    try:
        if writer.execute("PRAGMA user_version").fetchone() == (UPGRADABLE,):
            for statement in upgrade([number for (number,) in writer.execute("SELECT number FROM space")]):
                writer.execute(statement)
        writer.execute("COMMIT")
    except sqlite3.Error:
        return False
    return True


def _remade(path: Path) -> sqlite3.Connection:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    writer = connected(path)
    writer.executescript(FILE)
    return writer


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except ConnectionsClosed as error:
        raise IndexAsleep("the index is closed") from error
    except (sqlite3.Error, NoConnectionFree, CommitUnknown) as error:
        raise IndexAsleep(f"{type(error).__name__}: {error}") from error
