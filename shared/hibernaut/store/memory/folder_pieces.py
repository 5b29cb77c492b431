"""The pieces of all files of a folder, in the order of the files' creation and of their texts. A page opens about as many files as it shows.

The ids of a file's pieces begin at the file's own time (`domain.files.piece_ids`), so the files are opened in their order, and only as far as
the next piece may be in the next file.
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
    """A file with the least and the greatest id that its pieces may have. `readable`: its text is stored, else it has no pieces."""

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

    def page(self, folder_id: str, asked: Page) -> list[PiecePlace]:
        """A page of the pieces, ordered by id, as `domain.wire.listing.page`. Raises: NotFound for a cursor, unless it is to be ignored."""
        given = [cursor for cursor in (asked.after, asked.before) if cursor is not None]
        known = {cursor for cursor in given if self._has(folder_id, cursor)}
        if asked.lost == "refused":
            for cursor in given:
                if cursor not in known:
                    raise no_entry(cursor)
        after, before = (cursor if cursor in known else None for cursor in (asked.after, asked.before))
        # A page before a cursor holds the pieces next to it, so it is read from there.
        backwards = before is not None and after is None and asked.limit is not None
        span = IdRange(before, after) if asked.descending else IdRange(after, before)
        pieces = self._walk(folder_id, span, asked.limit, descending=asked.descending is not backwards)
        found = list(islice(pieces, asked.limit))
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
        opened: list[tuple[PiecePlace, Iterator[PiecePlace]]] = []
        choose, size = (max if descending else min), FIRST_FILES
        following = next(files, None)
        while opened or following:
            nearest = choose(opened, key=lambda one: one[0].id) if opened else None
            if nearest is None or (following and not following.is_behind(nearest[0].id, descending=descending)):
                some = [*([following] if following else ()), *islice(files, size - 1)]
                walks = self._open([file.id for file in some], span, limit, descending)
                opened += [(first, rest) for rest in walks if (first := next(rest, None))]
                following, size = next(files, None), min(2 * size, MOST_FILES)
                continue
            opened.remove(nearest)
            yield nearest[0]
            if further := next(nearest[1], None):
                opened.append((further, nearest[1]))

    def _files(self, folder_id: str, span: IdRange, *, descending: bool) -> Iterator[_File]:
        """The files that may have pieces between two ids: by the least id of their pieces, or by the greatest if `descending`."""
        rows = RowList(self._table, keys.folder(self._tenant, folder_id).pk, "FILE#", mark="name")
        edge = span.before if descending else span.after
        start = bounds_of_files(edge)[1 if descending else 0] if edge else None
        held: list[_File] = []
        for file in map(_file, rows.walk(start, descending=descending, first=MOST_FILES)):
            last = bounds_of_pieces(file.id)[1]
            if (
                (span.after is not None and last <= span.after)
                if descending
                else (span.before is not None and file.least >= span.before)
            ):
                break
            while held and held[-1].greatest > last:  # neither this file nor those behind it have such a piece
                yield held.pop()
            if not file.readable or (span.after is not None and file.greatest <= span.after):
                continue
            if descending:
                insort(held, file, key=lambda one: one.greatest)
            else:
                yield file
        yield from reversed(held)

    def _open(self, file_ids: list[str], span: IdRange, limit: int | None, descending: bool) -> list[Iterator[PiecePlace]]:
        """The pieces of each file between two ids. The first ones of all files are read together."""
        size = MOST_AT_ONCE if limit is None else min(max(limit, 1), MOST_AT_ONCE)
        after, before = (None if edge is None else f"PASSAGE#{edge}" for edge in span)
        asked = [
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
        found = self._table.query_many(asked)
        walks = [lists.continued(self._table, one, items, "sk") for one, items in zip(asked, found, strict=True)]
        return [_places(file_id, items) for file_id, items in zip(file_ids, walks, strict=True)]


def _file(row: Item) -> _File:
    file_id = keys.last_part(str(row["sk"]))
    return _File(file_id, *bounds_of_pieces(file_id, int(row["characters"])), bool(row["readable"]))


def _places(file_id: str, items: Iterator[Item]) -> Iterator[PiecePlace]:
    return (PiecePlace(keys.last_part(str(item["sk"])), file_id) for item in items)
