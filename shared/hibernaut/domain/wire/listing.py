"""Pages of a list: ordered rows, a cursor, and a limit (Letta V1 API, API 1.5).

Cursors are ids and relative to the requested order: `after` selects later rows, `before` earlier ones. A page before a cursor
holds the rows next to the cursor, so that a client that pages backwards by the first id of each page gets every row once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Literal, TypeVar

from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.immutable import immutable

Row = TypeVar("Row")
Place = str | int | None
Cursor = Literal["after", "before"]


@immutable
class Page:
    """The requested part of a list. `limit` counts rows; None: no limit. With `lost` set to "ignored", an unknown cursor counts
    as none.
    """

    limit: int | None = None
    before: str | None = None
    after: str | None = None
    descending: bool = False
    lost: Literal["refused", "ignored"] = "refused"


@immutable
class FilteredPage(Generic[Row]):
    """A filtered page. `rest`: the filter stopped early, because it reached the number of rows that one request may read; it is
    the cursor for the next request. None: no row was left out.
    """

    rows: list[Row]
    rest: tuple[Cursor, str] | None = None


def filtered_page(
    rows: Iterable[Row], admits: Callable[[Row], bool], *, limit: int, most: int, cursor: Cursor, id_of: Callable[[Row], str]
) -> FilteredPage[Row]:
    """The first `limit` rows that `admits` accepts, among the first `most` rows. `cursor` names the direction in which a next
    request continues.
    """
    found: list[Row] = []
    last = ""
    for read, row in enumerate(rows):
        if len(found) == limit:
            break
        if read == most:
            return FilteredPage(found, (cursor, last))
        last = id_of(row)
        if admits(row):
            found.append(row)
    return FilteredPage(found)


def page(rows: Sequence[Row], request: Page, *, id_of: Callable[[Row], str], place: Callable[[Row], Place]) -> list[Row]:
    """The rows of the requested page in its order: by `place`, then by id, rows without a place last.

    Raises: NotFound for an unknown cursor, unless it is to be ignored.
    """
    sorted_rows = in_order(rows, id_of=id_of, place=place, descending=request.descending)
    ids = [id_of(row) for row in sorted_rows]
    start = _index(ids, request.after, request, missing=-1) + 1
    end = _index(ids, request.before, request, missing=len(ids))
    found = sorted_rows[start:end]
    if request.limit is None:
        return found
    if request.before in ids and start == 0:
        return found[max(0, len(found) - request.limit) :]
    return found[: request.limit]


def no_entry(cursor: str) -> NotFound:
    """The error of a cursor that is no row's id."""
    return NotFound(f"There is no entry with the id {cursor} in this list.")


def in_order(rows: Sequence[Row], *, id_of: Callable[[Row], str], place: Callable[[Row], Place], descending: bool) -> list[Row]:
    """The rows ordered by place and id; rows without a place come last in either direction, as in V1."""
    with_place = [row for row in rows if place(row) not in (None, "")]
    without_place = [row for row in rows if place(row) in (None, "")]
    with_place.sort(key=lambda row: (place(row), id_of(row)), reverse=descending)
    without_place.sort(key=id_of, reverse=descending)
    return [*with_place, *without_place]


def _index(ids: Sequence[str], cursor: str | None, request: Page, *, missing: int) -> int:
    if cursor is None:
        return missing
    if cursor in ids:
        return ids.index(cursor)
    if request.lost == "ignored":
        return missing
    raise no_entry(cursor)
