"""The index in one SQLite file beside the table's: words by FTS5's BM25, vectors exactly.

Filters come first: FTS5's hits are joined with them, vectors are chosen by them. Everything a search looks at is one moment of
the file, also where another process writes. Must not know: what documents are about.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from hibernaut.adapters.memory_index import sqlite_rows as rows
from hibernaut.adapters.memory_index.sqlite_file import SqliteIndexFile
from hibernaut.adapters.memory_index.sqlite_queries import narrows
from hibernaut.adapters.memory_index.sqlite_schema import space_creation, space_removal
from hibernaut.adapters.memory_index.sqlite_vectors import VectorPlace, Vectors, packed
from hibernaut.adapters.memory_index.sqlite_words import by_words
from hibernaut.schemas.memory.search_index import (
    IndexDocument,
    IndexedState,
    IndexFound,
    IndexHit,
    IndexQuery,
    Tombstone,
    WordCounts,
)

SECONDS_OF_A_TOMBSTONE = 3600
_BYTES_OF_VECTORS = 512_000_000


class SqliteMemoryIndex:
    """The file at `path`, whose folder exists. `now`: seconds since 1970. `vector_bytes`: the approximate size of vectors in
    memory.

    `is_new`: the file was missing or unusable, so that the index must be rebuilt from the table.
    """

    visible_after = 0.0

    def __init__(self, path: Path, *, now: Callable[[], float] = time.time, vector_bytes: int = _BYTES_OF_VECTORS) -> None:
        self._file = SqliteIndexFile(path)
        self._now = now
        self._vectors = Vectors(vector_bytes)
        self.is_new = self._file.is_new

    def close(self) -> None:
        """Close the file. Later calls raise IndexAsleep."""
        self._file.close()

    def put(self, space: str, documents: Sequence[IndexDocument]) -> Sequence[str]:
        """Nobody needs the names of copies here: a document overwrites its older version."""
        vectors = [None if document.vector is None else packed(document.vector) for document in documents]
        if not documents:
            return ()
        by_tenant: dict[str, list[tuple[IndexDocument, bytes | None]]] = {}
        for document, vector in zip(documents, vectors, strict=True):
            by_tenant.setdefault(document.tenant, []).append((document, vector))
        with self._file.writing() as writer:
            for tenant, some in by_tenant.items():
                lengths = [len(document.vector) for document, _ in some if document.vector is not None]
                number = self._space_number(writer, space, tenant, lengths)
                self._forget_old_tombstones(writer, number)
                rows.put(writer, number, some)
        return ()

    def discard(self, space: str, copies: Sequence[str]) -> None:
        """There are no copies beside a document."""

    def collect(self, space: str, tenant: str) -> int:  # noqa: ARG002  there are no copies to look for
        return 0

    def wake(self) -> None:
        """A file does not sleep."""

    def remove(self, space: str, tombstones: Sequence[Tombstone]) -> None:
        if not tombstones:
            return
        with self._file.writing() as writer:
            touched = set[VectorPlace]()
            numbers = {tenant: self._space_number(writer, space, tenant, []) for tenant in {each.tenant for each in tombstones}}
            for number in numbers.values():
                self._forget_old_tombstones(writer, number)
            for tombstone in tombstones:
                number = numbers[tombstone.tenant]
                if (found := rows.remove(writer, number, tombstone, self._now())) is not None:
                    touched.add(VectorPlace(number, tombstone.tenant, *found))
            empty = [each for each in touched if not rows.has(writer, each.space, *each.key())]
        for place in empty:
            self._vectors.forget_place(place)

    def search(self, space: str, query: IndexQuery) -> IndexFound:
        with self._file.reading() as reader:
            vector = _checked(query, space, rows.dimension(reader, space))
            number = rows.space(reader, space, query.tenant)
            if number is None:
                return IndexFound()
            lexical, counts = by_words(reader, number, query) if query.text else ((), WordCounts())
            return IndexFound(
                lexical=lexical,
                vector=() if vector is None else self._by_vectors(reader, number, query, vector),
                counts=counts,
            )

    def states(self, space: str, tenant: str) -> Iterator[IndexedState]:
        after = ""
        while True:
            with self._file.reading() as reader:
                number = rows.space(reader, space, tenant)
                some = [] if number is None else rows.states(reader, number, tenant, after)
            for after, version, embedded in some:
                yield IndexedState(id=after, version=version, embedded=bool(embedded))
            if len(some) < rows.STATES_AT_ONCE:
                return

    def spaces(self) -> list[str]:
        with self._file.reading() as reader:
            return [name for (name,) in reader.execute("SELECT DISTINCT name FROM space ORDER BY name")]

    def drop(self, space: str) -> None:
        with self._file.writing() as writer:
            numbers = [number for (number,) in writer.execute("SELECT number FROM space WHERE name = ?", (space,))]
            for statement in (statement for number in numbers for statement in space_removal(number)):
                writer.execute(statement)
            writer.execute("DELETE FROM space WHERE name = ?", (space,))
        for number in numbers:
            self._vectors.forget(number)

    def _space_number(self, writer: sqlite3.Connection, space: str, tenant: str, dimensions: Sequence[int]) -> int:
        """The number of the tenant's part of the space. Raises: ValueError if a dimension differs from the space's."""
        dimension = rows.dimension(writer, space)
        expected = dimension or next(iter(dimensions), None)
        if odd := [other for other in dimensions if other != expected]:
            raise ValueError(f"the space {space} has vectors of {expected} numbers, not of {odd[0]}")
        number = rows.space(writer, space, tenant)
        if number is None:
            number = int(writer.execute("INSERT INTO space (name, tenant) VALUES (?, ?)", (space, tenant)).lastrowid or 0)
            for statement in space_creation(number):
                writer.execute(statement)
        if dimension is None and expected is not None:
            writer.execute("UPDATE space SET dimension = ? WHERE number = ?", (expected, number))
        return number

    def _forget_old_tombstones(self, writer: sqlite3.Connection, number: int) -> None:
        rows.forget_tombstones(writer, number, self._now() - SECONDS_OF_A_TOMBSTONE)

    def _by_vectors(self, reader: sqlite3.Connection, number: int, query: IndexQuery, vector: bytes) -> tuple[IndexHit, ...]:
        places = [VectorPlace(number, query.tenant, query.kind, name) for name in rows.places(reader, number, query)]
        among = rows.rows(reader, number, query) if narrows(query) else None
        near = self._vectors.nearest(reader, places, vector, among=among, limit=query.limit)
        names = rows.named(reader, number, (row for row, _ in near))
        if len(names) < len(near):
            self._vectors.sift(reader, places)
            near = self._vectors.nearest(reader, places, vector, among=among, limit=query.limit)
            names = rows.named(reader, number, (row for row, _ in near))
        hits = [
            (-cosine, -created, found, before) for row, cosine in near if row in names for found, created, before in (names[row],)
        ]
        return tuple(IndexHit(id=found, score=(1 - less) / 2, before=before) for less, _, found, before in sorted(hits))


def _checked(query: IndexQuery, space: str, dimension: int | None) -> bytes | None:
    """The query's vector; None where there is none, or nothing to compare it with."""
    if query.vector is None or dimension is None:
        return None
    if len(query.vector) != dimension:
        raise ValueError(f"the space {space} has vectors of {dimension} numbers, not of {len(query.vector)}")
    return packed(query.vector)
