"""Pages of a list: ordered rows, from a cursor on, so many of them (Letta V1 API, digest 1.5).

Cursors are ids and relative to the order asked for: `after` is further along, `before` nearer to the beginning. A page before a
cursor holds the rows next to it, so that a client that goes backwards by the first id of each page meets every row once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from hibernaut.schemas.errors import NotFound

Row = TypeVar("Row")
Place = str | int | None
Cursor = Literal["after", "before"]


@dataclass(frozen=True, slots=True)
class Page:
    """What part of a list is asked for. `limit` counts rows; None: all. With `lost` "ignored" an unknown cursor counts as none."""

    limit: int | None = None
    before: str | None = None
    after: str | None = None
    descending: bool = False
    lost: Literal["refused", "ignored"] = "refused"


@dataclass(frozen=True, slots=True)
class Sought(Generic[Row]):
    """A page for which rows were looked at one after the other. `rest`: it ended early, because it had looked at as many as one request
    may; the cursor from which the list goes on. None: nothing was left out."""

    rows: list[Row]
    rest: tuple[Cursor, str] | None = None


def sought(
    rows: Iterable[Row], admits: Callable[[Row], bool], *, limit: int, most: int, cursor: Cursor, id_of: Callable[[Row], str]
) -> Sought[Row]:
    """The first `limit` rows that pass, among the first `most`. `cursor`: the one that leads further in the order of these rows."""
    found: list[Row] = []
    last = ""
    for read, row in enumerate(rows):
        if len(found) == limit:
            break
        if read == most:
            return Sought(found, (cursor, last))
        last = id_of(row)
        if admits(row):
            found.append(row)
    return Sought(found)


def page(rows: Sequence[Row], asked: Page, *, id_of: Callable[[Row], str], place: Callable[[Row], Place]) -> list[Row]:
    """The rows that `asked` wants, in its order: by `place`, equal places by id, rows without a place last.

    Raises: NotFound for a cursor that is no row's id, unless it is to be ignored.
    """
    ordered = in_order(rows, id_of=id_of, place=place, descending=asked.descending)
    ids = [id_of(row) for row in ordered]
    start = _index(ids, asked.after, asked, missing=-1) + 1
    end = _index(ids, asked.before, asked, missing=len(ids))
    found = ordered[start:end]
    if asked.limit is None:
        return found
    if asked.before is not None and start == 0:
        return found[max(0, len(found) - asked.limit) :]
    return found[: asked.limit]


def no_entry(cursor: str) -> NotFound:
    """The error of a cursor that is no row's id."""
    return NotFound(f"There is no entry with the id {cursor} in this list.")


def in_order(rows: Sequence[Row], *, id_of: Callable[[Row], str], place: Callable[[Row], Place], descending: bool) -> list[Row]:
    """The rows by place and id; rows without a place stand last in either direction, as in V1."""
    placed = [row for row in rows if place(row) not in (None, "")]
    others = [row for row in rows if place(row) in (None, "")]
    placed.sort(key=lambda row: (place(row), id_of(row)), reverse=descending)
    others.sort(key=id_of, reverse=descending)
    return [*placed, *others]


def _index(ids: Sequence[str], cursor: str | None, asked: Page, *, missing: int) -> int:
    if cursor is None:
        return missing
    if cursor in ids:
        return ids.index(cursor)
    if asked.lost == "ignored":
        return missing
    raise no_entry(cursor)
