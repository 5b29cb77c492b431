"""How a SQLite file holds an index: tables of the file, and tables of each space.

A space has a number, never given twice, and its tables carry it, so that dropping it is dropping tables. A row of `document` never
changes and its number never comes back: a new version is a new row. What was read of one (`sqlite_vectors`) is true for ever.
Must not know: connections, queries.
"""

from __future__ import annotations

FORMAT = 1

FILE = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS space (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, dimension INTEGER);
PRAGMA user_version = {FORMAT};
COMMIT;
"""

# Times are microseconds since 1970. A vector is little-endian float32; it stands apart, so
# that filters read small rows. `words` holds English stems and pairs of
# Chinese, Japanese and Korean characters.
_SPACE = (
    """
    CREATE TABLE document_{number} (
        row INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, kind TEXT NOT NULL, place TEXT NOT NULL,
        conversation TEXT NOT NULL, file TEXT NOT NULL, role TEXT NOT NULL, created INTEGER NOT NULL,
        id TEXT NOT NULL, version INTEGER NOT NULL, embedded INTEGER NOT NULL
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
    "CREATE VIRTUAL TABLE words_{number} USING fts5(words, tokenize = 'porter unicode61 remove_diacritics 2')",
)
_TABLES = ("document", "vector", "tag", "tombstone", "words")


def space_made(number: int) -> list[str]:
    return [statement.format(number=number) for statement in _SPACE]


def space_dropped(number: int) -> list[str]:
    return [f"DROP TABLE {table}_{number}" for table in _TABLES]
