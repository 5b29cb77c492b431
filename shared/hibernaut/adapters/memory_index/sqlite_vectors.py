"""The vectors of a SQLite index in memory: one matrix per place, scored exactly.

A place's rows are read once, in the order of their numbers; new rows are read before each search. A row never changes
(`sqlite_schema`), so that a matrix can only lack new rows or contain deleted ones. When the total size, including spare room,
exceeds the bound, the least recently searched places are evicted. A place that alone exceeds the bound is read in pieces at each
search and not cached. A place without rows is removed.

Knows: numpy (imported at the first vector) and the table of documents. Must not know: words, tags, versions.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.int64]
    Floats = NDArray[np.float32]

_BYTES_OF_A_BLOCK = 16_000_000
_LEAST_ROOM = 16
_BYTES_OF_A_SHELF = 1_000  # what stands for a place beside its vectors, also where it has none
_ROWS_AT_ONCE = 2048
_DIGITS = 6  # the same vector has the same score in whatever piece of a matrix it stands
_OF_PLACE = "WHERE tenant = ? AND kind = ? AND place = ?"


@dataclass(frozen=True)
class VectorPlace:
    """Where vectors stand together. `space` is the space's number."""

    space: int
    tenant: str
    kind: str
    name: str

    def table(self) -> str:
        """The table with the documents of the space."""
        return f"document_{self.space}"

    def key(self) -> tuple[str, str, str]:
        """The values of the columns that select the place in the table: tenant, kind and place."""
        return self.tenant, self.kind, self.name


class _Block:
    """Room for rows, filled from the front. What is filled never changes, so it is read without a lock."""

    def __init__(self, room: int, dimension: int) -> None:
        import numpy as np

        self.rows: Rows = np.empty(room, np.int64)
        self.vectors: Floats = np.empty((room, dimension), np.float32)
        self.count = 0

    def room(self) -> int:
        return len(self.rows) - self.count

    def add(self, rows: Rows, vectors: Floats) -> None:
        end = self.count + len(rows)
        self.rows[self.count : end] = rows
        self.vectors[self.count : end] = vectors
        self.count = end

    def sifted(self, alive: Rows, last: int) -> _Block:
        """Itself, or a copy without the rows up to `last` that are not among the `alive`."""
        rows = self.rows[: self.count]
        mask = _are_in(rows, alive) | (rows > last)
        if mask.all():
            return self
        block = _Block(len(self.rows), self.vectors.shape[1])
        block.add(self.rows[: self.count][mask], self.vectors[: self.count][mask])
        return block


@dataclass
class _Shelf:
    """What is in memory of one place. `last`: the highest row that was looked at."""

    blocks: list[_Block] = field(default_factory=list)
    last: int = 0
    turn: threading.Lock = field(default_factory=threading.Lock)

    def rows(self) -> int:
        return sum(block.count for block in self.blocks)

    def room(self) -> int:
        return sum(len(block.rows) for block in self.blocks)


def packed(vector: Sequence[float]) -> bytes:
    """Little-endian float32 of length one. Raises: ValueError for a vector that has no direction."""
    import numpy as np

    found = np.asarray(vector, np.float64)
    length = float(np.linalg.norm(found))
    if not np.isfinite(length) or length == 0.0:
        raise ValueError("a vector needs finite numbers, and not all of them zero")
    return (found / length).astype("<f4").tobytes()


class Vectors:
    """Of all spaces of a file; about `most_bytes` in memory. Thread-safe."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._turn = threading.Lock()
        self._shelves: OrderedDict[VectorPlace, _Shelf] = OrderedDict()
        self._bytes: dict[VectorPlace, int] = {}

    def forget(self, space: int) -> None:
        """Remove the vectors of a dropped space."""
        for place in list(self._shelves):
            if place.space == space:
                self._let_go(place)

    def forget_place(self, place: VectorPlace) -> None:
        """Nothing stands there any more."""
        self._let_go(place)

    def nearest(
        self,
        connection: sqlite3.Connection,
        places: Sequence[VectorPlace],
        vector: bytes,
        *,
        among: Sequence[int] | None,
        limit: int,
    ) -> list[tuple[int, float]]:
        """The nearest rows and their cosines, best first, then newer rows first. `among`: the permitted rows, ascending; None:
        all.

        Without `among` the result may contain deleted rows; `sift` removes them.
        """
        import numpy as np

        query = np.frombuffer(vector, "<f4")
        chosen = None if among is None else np.asarray(among, np.int64)
        rows, scores = np.empty(0, np.int64), np.empty(0, np.float32)
        for place in places:
            for here, vectors in self._read(connection, place, len(query)):
                near = np.round(np.einsum("ij,j->i", vectors, query), _DIGITS)  # not BLAS: its threads wait busily for each other
                if chosen is not None:
                    mask = _are_in(here, chosen)
                    here, near = here[mask], near[mask]
                if len(near) > limit:
                    # Equals of the last are kept, so that the order among them is the same however rows fall into blocks.
                    best = near >= np.partition(near, len(near) - limit)[len(near) - limit]
                    here, near = here[best], near[best]
                rows, scores = np.concatenate((rows, here)), np.concatenate((scores, near))
        order = np.lexsort((-rows, -scores))[:limit]
        return [(int(rows[place]), float(scores[place])) for place in order]

    def sift(self, connection: sqlite3.Connection, places: Sequence[VectorPlace]) -> None:
        """Remove deleted rows of these places."""
        import numpy as np

        for place in places:
            shelf = self._shelf(place)
            with shelf.turn:
                last = _last(connection, place)
                found = connection.execute(f"SELECT row FROM {place.table()} {_OF_PLACE} ORDER BY row", place.key())
                alive = np.fromiter((row for (row,) in found), np.int64)
                sifted = [block.sifted(alive, last) for block in shelf.blocks]
                shelf.blocks = [block for block in sifted if block.count]
                thin = shelf.rows() < sum(len(block.rows) for block in shelf.blocks[:-1]) // 2
            if thin:
                self._let_go(place)

    def _read(self, connection: sqlite3.Connection, place: VectorPlace, dimension: int) -> Iterator[tuple[Rows, Floats]]:
        """The rows that the connection sees, in pieces, without rows that other connections added later."""
        last = _last(connection, place)
        shelf = self._shelf(place)
        with shelf.turn:
            fits = shelf.last >= last or self._filled(shelf, connection, place, dimension)
            blocks = [(block, block.count) for block in shelf.blocks]
        if not fits:
            self._let_go(place)
            yield from _stored(connection, place, 0)
            return
        if not blocks:  # nothing to cache, and perhaps no further search
            self._let_go(place)
            return
        self._keep_bound(place, shelf, dimension)
        for block, count in blocks:
            visible = int(block.rows[:count].searchsorted(last, "right"))
            yield block.rows[:visible], block.vectors[:visible]

    def _filled(self, shelf: _Shelf, connection: sqlite3.Connection, place: VectorPlace, dimension: int) -> bool:
        """Add new rows to the shelf. False, without a change, if the shelf would exceed the bound."""
        counting = f"SELECT count(*) FROM {place.table()} {_OF_PLACE} AND row > ?"
        (coming,) = connection.execute(counting, (*place.key(), shelf.last)).fetchone()
        if (shelf.rows() + coming) * _bytes_of_row(dimension) > self._most_bytes:
            return False
        most = max(_LEAST_ROOM, _BYTES_OF_A_BLOCK // _bytes_of_row(dimension))
        for rows, vectors in _stored(connection, place, shelf.last):
            start = 0
            while start < len(rows):
                if not shelf.blocks or not shelf.blocks[-1].room():
                    shelf.blocks.append(_Block(min(most, max(_LEAST_ROOM, coming, shelf.rows())), dimension))
                block = shelf.blocks[-1]
                end = start + block.room()
                block.add(rows[start:end], vectors[start:end])
                start = min(end, len(rows))
        shelf.last = _last(connection, place)
        return True

    def _shelf(self, place: VectorPlace) -> _Shelf:
        with self._turn:
            shelf = self._shelves.setdefault(place, _Shelf())
            self._shelves.move_to_end(place)
            return shelf

    def _keep_bound(self, place: VectorPlace, shelf: _Shelf, dimension: int) -> None:
        """Count this place, and let others go, the longest unused first, until all is within the bound."""
        with self._turn:
            if place not in self._shelves:
                return
            self._bytes[place] = shelf.room() * _bytes_of_row(dimension) + _BYTES_OF_A_SHELF
            total = sum(self._bytes.values())
            for other in list(self._shelves):
                if total <= self._most_bytes:
                    break
                if other != place:
                    del self._shelves[other]
                    total -= self._bytes.pop(other, 0)

    def _let_go(self, place: VectorPlace) -> None:
        with self._turn:
            self._shelves.pop(place, None)
            self._bytes.pop(place, None)


def _last(connection: sqlite3.Connection, place: VectorPlace) -> int:
    """The newest row that the connection sees."""
    (last,) = connection.execute(f"SELECT coalesce(max(row), 0) FROM {place.table()}").fetchone()
    return int(last)


def _stored(connection: sqlite3.Connection, place: VectorPlace, after: int) -> Iterator[tuple[Rows, Floats]]:
    """The place's rows behind one, as the file holds them, some thousand at once."""
    import numpy as np

    reading = (
        f"SELECT row, vector FROM {place.table()} JOIN vector_{place.space} USING (row) {_OF_PLACE} AND row > ? ORDER BY row"
    )
    found = connection.execute(reading, (*place.key(), after))
    while some := found.fetchmany(_ROWS_AT_ONCE):
        rows = np.fromiter((row for row, _ in some), np.int64, len(some))
        yield rows, np.frombuffer(b"".join(vector for _, vector in some), "<f4").reshape(len(some), -1)


def _are_in(rows: Rows, among: Rows) -> NDArray[np.bool_]:
    """Which of the rows are among others, which ascend."""
    import numpy as np

    if not len(among):
        return np.zeros(len(rows), np.bool_)
    places = np.minimum(among.searchsorted(rows), len(among) - 1)
    found: NDArray[np.bool_] = among[places] == rows
    return found


def _bytes_of_row(dimension: int) -> int:
    return dimension * 4 + 8
