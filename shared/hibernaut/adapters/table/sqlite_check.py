"""Looks at a SQLite file without changing it, and copies it while others write.

Knows SQLite. Must not know what the file holds.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

COPIED_PAGES = 2048
"""Pages that are copied at a time: 8 MB. Writers go on meanwhile, and what they change is copied again."""


class FileDamaged(Exception):
    """The file is no SQLite database, or SQLite cannot read it."""


def faults_of(path: Path) -> list[str]:
    """What `PRAGMA quick_check` finds; empty: the file is whole. Raises: FileDamaged."""
    try:
        with closing(_read_only(path)) as connection:
            found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(10)")]
    except sqlite3.Error as error:
        raise FileDamaged(str(error)) from error
    return [] if found == ["ok"] else found


def format_of(path: Path) -> int:
    """The number of the file's format. Raises: FileDamaged."""
    try:
        with closing(_read_only(path)) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.Error as error:
        raise FileDamaged(str(error)) from error


def copy_online(path: Path, to: Path) -> None:
    """Write a consistent copy of the file as it is at one moment. The file may have writers. Raises: FileDamaged."""
    try:
        with closing(_read_only(path)) as source, closing(sqlite3.connect(to)) as copy:
            source.backup(copy, pages=COPIED_PAGES)
    except sqlite3.Error as error:
        raise FileDamaged(str(error)) from error


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=5.0)
