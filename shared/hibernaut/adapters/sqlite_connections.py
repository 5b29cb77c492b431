"""The connections to one SQLite file: a writer, and a bounded pool of readers that never wait for the writer.

Knows: SQLite's connections and settings, and how many of them a file may have. Must not know: the content of the file, or the
errors of any port; the file's owner translates them. All adapters with a SQLite file share it.
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
"""The largest number of concurrent readers. A statement takes milliseconds, so more would only compete for the processor."""
LONGEST_WAIT = 5.0
"""The time limit in seconds for getting a reader or the writer."""
IDLE_SECONDS = 30.0
"""Seconds of idleness after which a reader is closed, the next time a reader is returned."""
CACHED_STATEMENTS = 128
_SETTINGS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",  # a commit reaches the operating system, not yet the disk: a killed process loses nothing
    "PRAGMA wal_autocheckpoint = 4000",  # pages: a checkpoint with its fsync happens once in hundreds of transactions
    "PRAGMA secure_delete = ON",  # deleted data is overwritten: no secret stays in the file's free pages
    "PRAGMA cache_size = -2000",  # KiB of cached pages for each connection
    "PRAGMA temp_store = MEMORY",  # undoing a large statement needs no file in the system's temporary folder, twice a message
)
_SECONDS_FOR_A_LOCK = 5.0


class ConnectionsClosed(Exception):
    """The file is closed."""


class NoConnectionFree(Exception):
    """All readers, or the writer, were busy for longer than the time limit. Nothing was done."""


class CommitUnknown(Exception):
    """The commit failed, and it is unknown whether it reached the file."""


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
    """The connections to one file. Thread-safe. A file without references is closed too."""

    def __init__(
        self,
        path: Path,
        writer: sqlite3.Connection,
        *,
        readers: int = READERS,
        wait: float = LONGEST_WAIT,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`writer`: a connection to the file, of which this object takes ownership. `now` returns seconds, for the idleness of
        readers.
        """
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
        """The number of open readers. SQLite reuses the descriptors of closed readers, or closes them together with the file."""
        return self._readers

    def close(self) -> None:
        """Wait for the current write and close the file; readers in use are closed when they are returned."""
        with self._turn, self._free:
            self._closed = True
            _close_all(self._idle, self._writer)
            self._free.notify_all()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A reader for one caller. An unfinished transaction is rolled back.

        Raises: ConnectionsClosed, NoConnectionFree, sqlite3.Error.
        """
        connection = self._take()
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
        """The writer in a transaction, for one caller at a time: committed at the end, rolled back after an exception.

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

    def _take(self) -> sqlite3.Connection:
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
        except BaseException:  # whatever stops it, the reader that was counted above does not exist
            self._forget(1)
            raise

    def _give_back(self, connection: sqlite3.Connection, *, sound: bool) -> None:
        """Return a reader. The most recently used one is reused first, so that the extra readers of a burst become idle."""
        now, closing = self._now(), []
        with self._free:
            if sound and not self._closed:
                self._idle.append((connection, now))
                while self._idle[0][1] < now - IDLE_SECONDS:
                    closing.append(self._idle.popleft()[0])
            else:
                closing.append(connection)
            if not closing:
                self._free.notify()
                return
        for each in closing:
            each.close()
        self._forget(len(closing))

    def _forget(self, closed: int) -> None:
        with self._free:
            self._readers -= closed
            self._free.notify()

    def _roll_back(self, writer: sqlite3.Connection) -> None:
        """Roll back. A writer that fails to do so is replaced: closing it ends its transaction."""
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
