"""Lists in the order of a time that changes, such as that of an agent's last run.

The item that holds the time names its place in the index LISTS, so the engine moves it there. The index may lag: an entry that
was just moved may be missing, or be at its old place. Rows without a time have a list of their own, in the order of their ids,
and come last in either direction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from hibernaut.domain.wire.listing import Page, no_entry
from hibernaut.ports.storage.table import Item
from hibernaut.store.table import keys
from hibernaut.store.table.lists import lists
from hibernaut.store.table.lists.lists import IndexList
from hibernaut.store.table.lists.logs import IdRange
from hibernaut.store.table.lists.row_lists import MOST_AT_ONCE, Select
from hibernaut.store.table.tenant_table import TenantTable


class Place(NamedTuple):
    """A row's place: 0 among those with a time, 1 among those without; and its sort key there."""

    part: int
    sk: str


class TimeOrder:
    """The rows of a list in the order of their attribute `field`, and of their ids where that is equal.

    `parts`: the lists with and (the second, if there is one) without a time. `rows_of` returns rows by name; a row that is
    there has the attribute `mark`. `stands`: whether an entry of the index is the place of its row. `name_of`: the name of an
    entry's row, by default the id in the entry's place. Cursors are names.
    """

    def __init__(
        self,
        table: TenantTable,
        parts: Sequence[IndexList],
        field: str,
        *,
        rows_of: Callable[[Sequence[str]], Mapping[str, Item]],
        mark: str,
        stands: Callable[[Item, Item], bool] = lambda entry, row: True,  # noqa: ARG005  the default looks at neither
        name_of: Callable[[Item], str] | None = None,
    ) -> None:
        self._table = table
        self._parts = parts
        self._field = field
        self._rows_of = rows_of
        self._mark = mark
        self._stands = stands
        self._name_of = name_of

    def page(self, request: Page, select: Select) -> list[Item]:
        """As `domain.wire.listing.page` over the selected rows by their time, without reading those outside the page.

        Raises: NotFound for a cursor that is no selected row's id, unless it is to be ignored.
        """
        after, before = self._cursors(request, select)
        # A page before a cursor holds the rows next to it, so it is read from there.
        backwards = before is not None and after is None and request.limit is not None
        found = list(islice(self._selected(request, after, before, select, backwards=backwards), request.limit))
        return found[::-1] if backwards else found

    def walk(self, request: Page) -> Iterator[Item]:
        """The rows between the cursors, in the requested order, read lazily: `request.limit` of them at once, then more and more.

        Raises: NotFound as `page`.
        """
        after, before = self._cursors(request, lambda rows: rows)
        return self._selected(request, after, before, lambda rows: rows, backwards=False)

    def _cursors(self, request: Page, select: Select) -> tuple[Place | None, Place | None]:
        cursors = [cursor for cursor in (request.after, request.before) if cursor]
        existing = {name: row for name, row in self._rows_of(cursors).items() if self._mark in row} if cursors else {}
        selected = {_id(row) for row in select(list(existing.values()))} if existing else set()
        places = {name: self._place(row) for name, row in existing.items() if _id(row) in selected}
        if request.lost == "refused":
            for cursor in (request.after, request.before):
                if cursor is not None and cursor not in places:
                    raise no_entry(cursor)
        return places.get(request.after or ""), places.get(request.before or "")

    def _place(self, row: Item) -> Place:
        at, identifier = str(row.get(self._field, "")), _id(row)
        return Place(0, keys.timed(at, identifier)) if at else Place(1, identifier)

    def _selected(
        self, request: Page, after: Place | None, before: Place | None, select: Select, *, backwards: bool
    ) -> Iterator[Item]:
        """The selected rows between two places of the requested order, read lazily, from its end if `backwards`."""
        yielded: set[str] = set()
        size = min(max(request.limit or MOST_AT_ONCE, 1), MOST_AT_ONCE)
        entries = self._entries(request, after, before, backwards=backwards, first=size)
        while found := list(islice(entries, size)):
            rows = self._rows_of(list(dict.fromkeys(identifier for identifier, _ in found)))
            ids = [identifier for identifier, entry in found if identifier in rows and self._stands(entry, rows[identifier])]
            # An entry that moved while the index was read is met twice.
            new = [identifier for identifier in dict.fromkeys(ids) if identifier not in yielded]
            yielded.update(new)
            yield from select([rows[identifier] for identifier in new if self._mark in rows[identifier]])
            size = min(2 * size, MOST_AT_ONCE)

    def _entries(
        self, request: Page, after: Place | None, before: Place | None, *, backwards: bool, first: int
    ) -> Iterator[tuple[str, Item]]:
        """The names of the rows of the entries between two places, with the entries."""
        parts = list(enumerate(self._parts))
        for part, index_list in parts[::-1] if backwards else parts:
            if (after is not None and part < after.part) or (before is not None and part > before.part):
                continue
            start = after.sk if after is not None and after.part == part else None
            end = before.sk if before is not None and before.part == part else None
            span = IdRange(end, start) if request.descending else IdRange(start, end)
            found = lists.entries(self._table, index_list, span, first=first, descending=request.descending is not backwards)
            name_of = self._name_of
            yield from ((name_of(entry) if name_of else keys.last_part(f"#{index_list.sk(entry)}"), entry) for entry in found)


def _id(row: Item) -> str:
    return keys.last_part(f"#{row['sk']}")
