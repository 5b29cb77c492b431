"""The connections of one SQLite file: a writer, and a bounded pool of readers that never wait for it.

Knows: SQLite's connections and settings, and how many of them a file may have. Must not know: what is in the file, or by which errors
a port tells of it; whoever owns the file translates. It is shared by the folders of adapters that keep a file of their own.
"""

from __future__ import annotations

import sqlite3
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

READERS = 8
"""Connections that read at the same time. A statement takes milliseconds, so that more would only compete for the processor."""
LONGEST_WAIT = 5.0
"""Seconds that a caller waits for a free reader, or for the writer's turn."""
IDLE_SECONDS = 30.0
"""A reader that nobody needed for so long is closed when the next one is given back."""
CACHED_STATEMENTS = 128
_SETTINGS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",  # a commit reaches the operating system, not yet the disk: a killed process loses nothing
    "PRAGMA wal_autocheckpoint = 4000",  # pages: the fsync of a checkpoint comes once in hundreds of transactions
    "PRAGMA secure_delete = ON",  # what is deleted is overwritten: a secret does not stay in the file's free pages
    "PRAGMA cache_size = -2000",  # KiB of pages that one connection keeps
)
_SECONDS_FOR_A_LOCK = 5.0


class ConnectionsClosed(Exception):
    """The file was given back."""


class NoConnectionFree(Exception):
    """All readers, or the writer, were taken for longer than a caller waits. Nothing was done."""


class CommitUnknown(Exception):
    """The commit failed, and whether it reached the file is not known."""


def connected(path: Path) -> sqlite3.Connection:
    """A connection with the settings of all our files. Raises: sqlite3.Error."""
    connection = sqlite3.connect(
        path, timeout=_SECONDS_FOR_A_LOCK, isolation_level=None, check_same_thread=False, cached_statements=CACHED_STATEMENTS
    )
    try:
        for setting in _SETTINGS:
            connection.execute(setting)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


class SqliteConnections:
    """Thread-safe. A file that nobody holds any more is given back too."""

    def __init__(
        self,
        path: Path,
        writer: sqlite3.Connection,
        *,
        readers: int = READERS,
        wait: float = LONGEST_WAIT,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`writer`: a connection to the file, which is owned from here on. `now` answers seconds, by which readers grow idle."""
        self._path = path
        self._most, self._wait, self._now = readers, wait, now
        self._turn = threading.Lock()
        self._writer = [writer]
        self._free = threading.Condition()
        self._idle: deque[tuple[sqlite3.Connection, float]] = deque()
        self._readers = 0
        self._closed = False
        weakref.finalize(self, _close_all, self._idle, self._writer)

    @property
    def readers(self) -> int:
        """How many connections there are to read by. SQLite gives the descriptors of closed ones to the next, or back with the file."""
        return self._readers

    def close(self) -> None:
        """Wait for the write under way and give the file back; readers under way are closed as they end."""
        with self._turn, self._free:
            self._closed = True
            _close_all(self._idle, self._writer)
            self._free.notify_all()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection for one caller. What it has begun and not ended is rolled back.

        Raises: ConnectionsClosed, NoConnectionFree, sqlite3.Error.
        """
        connection = self._taken()
        sound = False
        try:
            yield connection
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            sound = True
        finally:
            self._give_back(connection, sound=sound)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The writer in a transaction, for one caller at a time: committed at the end, rolled back by any exception.

        Raises: ConnectionsClosed, NoConnectionFree, sqlite3.Error (nothing was done), CommitUnknown.
        """
        if not self._turn.acquire(timeout=self._wait):
            raise NoConnectionFree("another write is under way")
        try:
            if self._closed:
                raise ConnectionsClosed
            writer = self._writer[0]
            try:
                writer.execute("BEGIN IMMEDIATE")
                yield writer
                _commit(writer)
            finally:
                self._roll_back(writer)
        finally:
            self._turn.release()

    def _taken(self) -> sqlite3.Connection:
        with self._free:
            if not self._free.wait_for(lambda: self._closed or self._idle or self._readers < self._most, self._wait):
                raise NoConnectionFree(f"{self._most} readers are under way")
            if self._closed:
                raise ConnectionsClosed
            if self._idle:
                return self._idle.pop()[0]
            self._readers += 1
        try:
            return connected(self._path)
        except BaseException:
            self._forget(1)
            raise

    def _give_back(self, connection: sqlite3.Connection, *, sound: bool) -> None:
        """The newest is used first, so that those that a burst has made grow old at the other end."""
        now, closing = self._now(), []
        with self._free:
            if sound and not self._closed:
                self._idle.append((connection, now))
                while self._idle[0][1] < now - IDLE_SECONDS:
                    closing.append(self._idle.popleft()[0])
            else:
                closing.append(connection)
        for each in closing:
            each.close()
        self._forget(len(closing))

    def _forget(self, closed: int) -> None:
        with self._free:
            self._readers -= closed
            self._free.notify()

    def _roll_back(self, writer: sqlite3.Connection) -> None:
        """A writer that cannot even roll back is replaced: closing it ends its transaction."""
        if not writer.in_transaction:
            return
        try:
            writer.execute("ROLLBACK")
        except sqlite3.Error:
            writer.close()
            self._writer[0] = connected(self._path)


def _commit(writer: sqlite3.Connection) -> None:
    try:
        writer.execute("COMMIT")
    except sqlite3.Error as error:
        if writer.in_transaction:
            raise
        raise CommitUnknown(str(error)) from error


def _close_all(idle: deque[tuple[sqlite3.Connection, float]], writer: list[sqlite3.Connection]) -> None:
    while idle:
        idle.pop()[0].close()
    writer[0].close()
