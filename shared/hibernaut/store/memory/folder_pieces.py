"""The pieces of all files of a folder, in the order of the files' creation and of their texts. A page opens about as many files
as it shows.

The ids of a file's pieces begin at the file's own time (`domain.files.piece_ids`), so the files are opened in their order, and
only as far as the next piece may be in the next file.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from hibernaut.domain.files.piece_ids import bounds_of_files, bounds_of_pieces
from hibernaut.domain.wire.listing import Page, no_entry
from hibernaut.ports.storage.table import Item, Query
from hibernaut.schemas.ids import is_id
from hibernaut.store.table import keys
from hibernaut.store.table.lists import lists
from hibernaut.store.table.lists.lists import MOST_AT_ONCE
from hibernaut.store.table.lists.logs import IdRange
from hibernaut.store.table.lists.row_lists import RowList
from hibernaut.store.table.tenant_table import TenantTable

FIRST_FILES, MOST_FILES = 4, 32
"""Files that are opened together: the first time, and at most."""


class PiecePlace(NamedTuple):
    """A piece and its file."""

    id: str
    file_id: str


class _File(NamedTuple):
    """A file with the least and the greatest id that its pieces may have. `readable`: its text is stored, else it has no
    pieces.
    """

    id: str
    least: str
    greatest: str
    readable: bool

    def is_behind(self, piece: str, *, descending: bool) -> bool:
        """Whether every piece of the file comes after this one in the order."""
        return piece > self.greatest if descending else piece < self.least


class FolderPieces:
    """The places of a folder's pieces. Reads raise StoreUnavailable (`store.table.retries`)."""

    def __init__(self, table: TenantTable) -> None:
        self._table = table
        self._tenant = table.tenant

    def page(self, folder_id: str, request: Page) -> list[PiecePlace]:
        """A page of the pieces, ordered by id, as `domain.wire.listing.page`. Raises: NotFound for a cursor, unless it is to be
        ignored.
        """
        cursors = [cursor for cursor in (request.after, request.before) if cursor is not None]
        existing = {cursor for cursor in cursors if self._has(folder_id, cursor)}
        if request.lost == "refused":
            for cursor in cursors:
                if cursor not in existing:
                    raise no_entry(cursor)
        after, before = (cursor if cursor in existing else None for cursor in (request.after, request.before))
        # A page before a cursor holds the pieces next to it, so it is read from there.
        backwards = before is not None and after is None and request.limit is not None
        span = IdRange(before, after) if request.descending else IdRange(after, before)
        pieces = self._walk(folder_id, span, request.limit, descending=request.descending is not backwards)
        found = list(islice(pieces, request.limit))
        return found[::-1] if backwards else found

    def _has(self, folder_id: str, piece: str) -> bool:
        if not is_id(piece, "passage"):
            return False
        least, greatest = bounds_of_files(piece)
        # The bounds are ids that no file has.
        rows = self._table.query(
            keys.folder(self._tenant, folder_id).pk, prefix="FILE#", after=f"FILE#{least}", before=f"FILE#{greatest}"
        )
        files = [file.id for file in map(_file, rows) if file.least <= piece <= file.greatest]
        return bool(files and self._table.get_many([keys.piece(self._tenant, file_id, piece) for file_id in files]))

    def _walk(self, folder_id: str, span: IdRange, limit: int | None, *, descending: bool) -> Iterator[PiecePlace]:
        """The pieces between two ids, read lazily."""
        files = self._files(folder_id, span, descending=descending)
        open_walks: list[tuple[PiecePlace, Iterator[PiecePlace]]] = []
        choose, size = (max if descending else min), FIRST_FILES
        following = next(files, None)
        while open_walks or following:
            nearest = choose(open_walks, key=lambda one: one[0].id) if open_walks else None
            if nearest is None or (following and not following.is_behind(nearest[0].id, descending=descending)):
                batch = [*([following] if following else ()), *islice(files, size - 1)]
                walks = self._open([file.id for file in batch], span, limit, descending)
                open_walks += [(first, walk) for walk in walks if (first := next(walk, None))]
                following, size = next(files, None), min(2 * size, MOST_FILES)
                continue
            open_walks.remove(nearest)
            yield nearest[0]
            if further := next(nearest[1], None):
                open_walks.append((further, nearest[1]))

    def _files(self, folder_id: str, span: IdRange, *, descending: bool) -> Iterator[_File]:
        """The files that may have pieces between two ids: by the least id of their pieces, or by the greatest if `descending`."""
        rows = RowList(self._table, keys.folder(self._tenant, folder_id).pk, "FILE#", mark="name")
        edge = span.before if descending else span.after
        start = bounds_of_files(edge)[1 if descending else 0] if edge else None
        delayed: list[_File] = []
        for file in map(_file, rows.walk(start, descending=descending, first=MOST_FILES)):
            last = bounds_of_pieces(file.id)[1]
            if (
                (span.after is not None and last <= span.after)
                if descending
                else (span.before is not None and file.least >= span.before)
            ):
                break
            while delayed and delayed[-1].greatest > last:  # neither this file nor those behind it have such a piece
                yield delayed.pop()
            if not file.readable or (span.after is not None and file.greatest <= span.after):
                continue
            if descending:
                insort(delayed, file, key=lambda one: one.greatest)
            else:
                yield file
        yield from reversed(delayed)

    def _open(self, file_ids: list[str], span: IdRange, limit: int | None, descending: bool) -> list[Iterator[PiecePlace]]:
        """The pieces of each file between two ids. The first ones of all files are read together."""
        size = MOST_AT_ONCE if limit is None else min(max(limit, 1), MOST_AT_ONCE)
        after, before = (None if edge is None else f"PASSAGE#{edge}" for edge in span)
        queries = [
            Query(
                keys.file(self._tenant, file_id).pk,
                prefix="PASSAGE#",
                after=after,
                before=before,
                limit=size,
                descending=descending,
                names=("sk",),
            )
            for file_id in file_ids
        ]
        found = self._table.query_many(queries)
        walks = [lists.continued(self._table, one, items, "sk") for one, items in zip(queries, found, strict=True)]
        return [_places(file_id, items) for file_id, items in zip(file_ids, walks, strict=True)]


def _file(row: Item) -> _File:
    file_id = keys.last_part(str(row["sk"]))
    return _File(file_id, *bounds_of_pieces(file_id, int(row["characters"])), bool(row["readable"]))


def _places(file_id: str, items: Iterator[Item]) -> Iterator[PiecePlace]:
    return (PiecePlace(keys.last_part(str(item["sk"])), file_id) for item in items)
