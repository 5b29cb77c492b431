"""The SQLite file of a table: its format, and what goes wrong with it in the port's words.

Knows: the file's schema and the errors of its connections. Must not know: items.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hibernaut.adapters.sqlite_connections import (
    CommitUnknown,
    ConnectionsClosed,
    NoConnectionFree,
    SqliteConnections,
    connected,
)
from hibernaut.adapters.table.sqlite_rows import FORMAT, SCHEMA
from hibernaut.ports.storage.table import Contended, OutcomeUnknown, TableError


class FormatUnknown(TableError):
    """The file was written by another version of this engine."""


class SqliteFile:
    """The file at `path`, which is created if it is missing; its folder exists. Thread-safe. `now`: the clock for idle readers,
    in seconds.
    """

    def __init__(self, path: Path, *, now: Callable[[], float] = time.monotonic) -> None:
        with _translated(path.name):
            writer = connected(path)
        try:
            _prepare(writer, path.name)
        except BaseException:  # whatever stops it, the file must not stay open behind it
            writer.close()
            raise
        self._connections = SqliteConnections(path, writer, now=now)

    def close(self) -> None:
        """Wait for the current write and close the file. Later calls raise TableError."""
        self._connections.close()

    def read(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """All rows of one statement, after the last completed write. Raises: Contended if no reader becomes free, TableError."""
        with _translated(), self._connections.reading() as connection:
            return connection.execute(sql, values).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """The writer's connection in a transaction, for one thread at a time: committed at the end, rolled back by any exception.

        Raises: Contended where somebody else holds the file, OutcomeUnknown where a commit may or may not have reached it,
        TableError for what else SQLite refuses.
        """
        with _translated(), self._connections.writing() as writer:
            yield writer


def _prepare(writer: sqlite3.Connection, name: str) -> None:
    with _translated(name):
        (found,) = writer.execute("PRAGMA user_version").fetchone()
        if found == 0:
            writer.executescript(SCHEMA)
        elif found != FORMAT:
            raise FormatUnknown(f"{name} has format {found}, this version reads format {FORMAT}")


@contextmanager
def _translated(name: str = "") -> Iterator[None]:
    try:
        yield
    except ConnectionsClosed as error:
        raise TableError("the table is closed") from error
    except NoConnectionFree as error:
        raise Contended(str(error)) from error
    except CommitUnknown as error:
        raise OutcomeUnknown(str(error)) from error
    except sqlite3.Error as error:
        busy = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
        raise (Contended if busy else TableError)(f"{name}: {error}" if name else str(error)) from error
