"""Statements on the tables of a tenant's part of a space: writing documents and tombstones, reading ids and states.

The caller owns the connection and its transaction. Must not know: vectors in memory, files, the scores of words.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence

from hibernaut.adapters.memory_index.sqlite_queries import LIST, filters, microseconds
from hibernaut.domain.search.words import analysed
from hibernaut.schemas.memory.search_index import IndexDocument, IndexQuery, Tombstone

STATES_AT_ONCE = 1000


def space(connection: sqlite3.Connection, name: str, tenant: str) -> int | None:
    """The number of a tenant's part of a space."""
    found = connection.execute("SELECT number FROM space WHERE name = ? AND tenant = ?", (name, tenant)).fetchone()
    return None if found is None else int(found[0])


def dimension(connection: sqlite3.Connection, name: str) -> int | None:
    """The dimension of a space's vectors, which all tenants share, once it has one."""
    return connection.execute("SELECT max(dimension) FROM space WHERE name = ?", (name,)).fetchone()[0]  # type: ignore[no-any-return]


def put(writer: sqlite3.Connection, number: int, documents: Sequence[tuple[IndexDocument, bytes | None]]) -> None:
    """Write documents with their vectors, except those with an equal or newer version, or a tombstone of one, in the table.

    The number of statements is small and constant, because each statement may switch threads while the writer's lock is held.
    """
    newest: dict[tuple[str, str], tuple[IndexDocument, bytes | None]] = {}
    for document, vector in documents:
        there = newest.get((document.tenant, document.id))
        if there is None or there[0].version < document.version:
            newest[document.tenant, document.id] = document, vector
    keys = list(newest)
    existing = _found(writer, f"document_{number}", "d.row", keys)
    buried = _found(writer, f"tombstone_{number}", "0", [key for key in keys if key not in existing])
    versions = existing | buried
    fresh = {key: new for key, new in newest.items() if key not in versions or versions[key][1] < new[0].version}
    _delete(writer, number, [existing[key][0] for key in fresh if key in existing])
    _insert(writer, number, list(fresh.values()))


def _found(
    connection: sqlite3.Connection, table: str, row: str, keys: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], tuple[int, int]]:
    """Row and version of the keys that exist in a table, by tenant and id."""
    if not keys:
        return {}
    selected = (
        f"SELECT d.tenant, d.id, {row}, d.version FROM json_each(?) w CROSS JOIN {table} d"
        " ON d.tenant = json_extract(w.value, '$[0]') AND d.id = json_extract(w.value, '$[1]')"
    )
    found = connection.execute(selected, (json.dumps(keys),))
    return {(tenant, name): (place, version) for tenant, name, place, version in found}


def _insert(writer: sqlite3.Connection, number: int, documents: Sequence[tuple[IndexDocument, bytes | None]]) -> None:
    """With numbers that no row ever had."""
    counted = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?"
    (last,) = writer.execute(counted, (f"document_{number}",)).fetchone()
    numbered = [(row, document, vector) for row, (document, vector) in enumerate(documents, last + 1)]
    terms = {row: analysed(document.text) for row, document, _ in numbered}
    writer.executemany(
        f"INSERT INTO document_{number} (row, tenant, kind, place, conversation, file, role, created, id, version, embedded,"
        " length, before) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                *(row, one.tenant, one.kind, one.place, one.conversation, one.file_id, one.role),
                *(microseconds(one.created_at), one.id, one.version, vector is not None, len(terms[row]), one.before),
            )
            for row, one, vector in numbered
        ],
    )
    vectors = [(row, vector) for row, _, vector in numbered if vector is not None]
    writer.executemany(f"INSERT INTO vector_{number} (row, vector) VALUES (?, ?)", vectors)
    words = [(row, " ".join(found)) for row, found in terms.items()]
    writer.executemany(f"INSERT INTO words_{number} (rowid, words) VALUES (?, ?)", words)
    tags = [(row, tag) for row, one, _ in numbered for tag in set(one.tags)]
    writer.executemany(f"INSERT INTO tag_{number} (row, tag) VALUES (?, ?)", tags)
    _count(writer, number, len(terms), sum(map(len, terms.values())))


def remove(writer: sqlite3.Connection, number: int, tombstone: Tombstone, at: float) -> tuple[str, str] | None:
    """Remove a document, unless its version is newer than the tombstone. Returns kind and place of the removed document."""
    key = (tombstone.tenant, tombstone.id)
    selected = f"SELECT row, version, kind, place FROM document_{number} WHERE tenant = ? AND id = ?"
    row = writer.execute(selected, key).fetchone()
    if row is not None:
        if row[1] > tombstone.version:
            return None
        _delete(writer, number, [row[0]])
    writer.execute(
        f"INSERT INTO tombstone_{number} (tenant, id, version, at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (tenant, id) DO UPDATE SET at = excluded.at, version = max(version, excluded.version)",
        (*key, tombstone.version, at),
    )
    return None if row is None else (row[2], row[3])


def has(connection: sqlite3.Connection, number: int, tenant: str, kind: str, place: str) -> bool:
    """Whether anything stands in a place."""
    selected = f"SELECT 1 FROM document_{number} WHERE tenant = ? AND kind = ? AND place = ? LIMIT 1"
    return connection.execute(selected, (tenant, kind, place)).fetchone() is not None


def forget_tombstones(writer: sqlite3.Connection, number: int, before: float) -> None:
    """Delete the space's tombstones that were written before this time."""
    writer.execute(f"DELETE FROM tombstone_{number} WHERE at < ?", (before,))


def rows(reader: sqlite3.Connection, number: int, query: IndexQuery) -> list[int]:
    """All rows with vectors that a query may find, ascending."""
    where, values = filters(number, query)
    selected = f"SELECT d.row FROM document_{number} d WHERE {where} AND d.embedded ORDER BY d.row"
    return [row for (row,) in reader.execute(selected, values)]


def places(reader: sqlite3.Connection, number: int, query: IndexQuery) -> list[str]:
    """The places of the query, or all places of the tenant and kind."""
    if query.places is not None:
        return list(dict.fromkeys(query.places))
    key = (query.tenant, query.kind)
    return [
        place for (place,) in reader.execute(f"SELECT DISTINCT place FROM document_{number} WHERE tenant = ? AND kind = ?", key)
    ]


def named(reader: sqlite3.Connection, number: int, rows: Iterable[int]) -> dict[int, tuple[str, int, str]]:
    """Ids and times of the rows that still exist, and the ids of the documents before them."""
    selected = f"SELECT row, id, created, before FROM document_{number} WHERE row IN {LIST}"
    return {row: (found, created, before) for row, found, created, before in reader.execute(selected, (json.dumps(list(rows)),))}


def states(reader: sqlite3.Connection, number: int, tenant: str, after: str) -> list[tuple[str, int, bool]]:
    """The next ids, versions, and whether there is a vector."""
    return reader.execute(
        f"SELECT id, version, embedded FROM document_{number} WHERE tenant = ? AND id > ? ORDER BY id LIMIT ?",
        (tenant, after, STATES_AT_ONCE),
    ).fetchall()


def _delete(writer: sqlite3.Connection, number: int, rows: Sequence[int]) -> None:
    if not rows:
        return
    measured = f"SELECT count(*), coalesce(sum(length), 0) FROM document_{number} WHERE row IN {LIST}"
    texts, terms = writer.execute(measured, (json.dumps(rows),)).fetchone()
    _count(writer, number, -texts, -terms)
    for table, name in (("document", "row"), ("vector", "row"), ("words", "rowid"), ("tag", "row")):
        writer.executemany(f"DELETE FROM {table}_{number} WHERE {name} = ?", [(row,) for row in rows])


def _count(writer: sqlite3.Connection, number: int, texts: int, terms: int) -> None:
    writer.execute("UPDATE space SET texts = texts + ?, terms = terms + ? WHERE number = ?", (texts, terms, number))
