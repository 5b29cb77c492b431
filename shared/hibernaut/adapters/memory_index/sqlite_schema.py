"""The schema of an index in a SQLite file: tables of the file, and tables of each space of each tenant.

A tenant's part of a space has a unique number, which is part of its tables' names. Dropping a space drops its tables, and no
tenant's texts affect the statistics of another tenant's search. A row of `document` never changes, and its number is never
reused: a new version is a new row. Cached rows (`sqlite_vectors`) therefore stay valid.
Must not know: connections, queries.
"""

from __future__ import annotations

from collections.abc import Iterable

FORMAT = 3
UPGRADABLE = 2
"""The format before: its documents do not name the ones before them."""

FILE = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS space (
    number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, tenant TEXT NOT NULL, dimension INTEGER,
    texts INTEGER NOT NULL DEFAULT 0, terms INTEGER NOT NULL DEFAULT 0, UNIQUE (name, tenant)
);
PRAGMA user_version = {FORMAT};
COMMIT;
"""

# Times are microseconds since 1970. A vector is little-endian float32; it stands apart, so
# that filters read small rows. `words` holds the terms of texts (`domain.search.words`), which FTS5 cuts at
# blanks alone; `length` counts them, and a space knows how many texts and terms it has.
_SPACE = (
    """
    CREATE TABLE document_{number} (
        row INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, kind TEXT NOT NULL, place TEXT NOT NULL,
        conversation TEXT NOT NULL, file TEXT NOT NULL, role TEXT NOT NULL, created INTEGER NOT NULL,
        id TEXT NOT NULL, version INTEGER NOT NULL, embedded INTEGER NOT NULL, length INTEGER NOT NULL,
        before TEXT NOT NULL DEFAULT ''
    )
    """,
    "CREATE UNIQUE INDEX document_{number}_id ON document_{number} (tenant, id)",
    "CREATE INDEX document_{number}_place ON document_{number} (tenant, kind, place)",
    "CREATE TABLE vector_{number} (row INTEGER PRIMARY KEY, vector BLOB NOT NULL)",
    "CREATE TABLE tag_{number} (row INTEGER NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (row, tag)) WITHOUT ROWID",
    """
    CREATE TABLE tombstone_{number} (
        tenant TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, at REAL NOT NULL, PRIMARY KEY (tenant, id)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX tombstone_{number}_at ON tombstone_{number} (at)",
    "CREATE VIRTUAL TABLE words_{number} USING fts5(words, tokenize = \"unicode61 remove_diacritics 0 categories 'L* M* N*'\")",
)
_TABLES = ("document", "vector", "tag", "tombstone", "words")


def upgrade(numbers: Iterable[int]) -> list[str]:
    """The statements that bring a file of the format before, with these spaces, to today's. Its documents stay."""
    added = [f"ALTER TABLE document_{number} ADD COLUMN before TEXT NOT NULL DEFAULT ''" for number in numbers]
    return [*added, f"PRAGMA user_version = {FORMAT}"]


def space_creation(number: int) -> list[str]:
    """The statements that create the tables of a space."""
    return [statement.format(number=number) for statement in _SPACE]


def space_removal(number: int) -> list[str]:
    """The statements that drop the tables of a space."""
    return [f"DROP TABLE {table}_{number}" for table in _TABLES]
