"""Lists of rows in one partition, in the order of their ids, which is that of their making: pages that read as many rows as they show.

What needs another order, or counts over all rows, reads all of them; what filters, reads on until the page is full.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from hibernaut.domain.wire.listing import Page, no_entry
from hibernaut.ports.table import Item, Key
from hibernaut.store.logs import IdRange
from hibernaut.store.tenant_table import TenantTable

MOST_AT_ONCE = 500
"""Rows of one read."""
Select = Callable[[Sequence[Item]], Sequence[Item]]
"""Which of the rows of one read are shown, in their order. It may look up what rows refer to, for all of them at once."""


class RowList:
    """The rows under `pk` whose sort keys are `prefix` and an id. `mark`: an attribute that a row has which is there; one without it is
    what a late write has left of a row that was deleted."""

    def __init__(self, table: TenantTable, pk: str, prefix: str = "", *, mark: str = "pk") -> None:
        self._table = table
        self._pk, self._prefix, self._mark = pk, prefix, mark

    def id_of(self, row: Item) -> str:
        return str(row["sk"]).removeprefix(self._prefix)

    def all(self) -> list[Item]:
        """Every row, oldest first."""
        return self._there(self._table.query(self._pk, prefix=self._prefix))

    def count(self) -> int:
        """How many rows there are, counted by the engine."""
        return self._table.count(self._pk, prefix=self._prefix, having=self._mark)

    def page(self, asked: Page, select: Select = lambda rows: rows) -> list[Item]:
        """As `domain.wire.listing.page` over the selected rows by the time of their making, without reading those outside the page.

        Raises: NotFound for a cursor that is no selected row's id, unless it is to be ignored.
        """
        after, before = self._cursors(asked, select)
        # A page before a cursor holds the rows next to it, so it is read from there.
        backwards = before is not None and after is None and asked.limit is not None
        span = IdRange(before, after) if asked.descending else IdRange(after, before)
        rows = self._selected(span, select, descending=asked.descending is not backwards, first=asked.limit)
        found = list(islice(rows, asked.limit))
        return found[::-1] if backwards else found

    def has(self, identifier: str) -> bool:
        """Whether there is a row of this id."""
        found = self._table.get(Key(self._pk, self._prefix + identifier)) if identifier else None
        return found is not None and self._mark in found

    def walk(self, after: str | None = None, *, descending: bool = False, first: int | None = None) -> Iterator[Item]:
        """The rows behind a cursor, read as far as they are asked for, `first` of them at once."""
        span = IdRange(None, after) if descending else IdRange(after, None)
        return self._selected(span, lambda rows: rows, descending=descending, first=first)

    def _cursors(self, asked: Page, select: Select) -> tuple[str | None, str | None]:
        """`after` and `before`, each None where it is not given, or unknown and ignored."""
        given = [cursor for cursor in (asked.after, asked.before) if cursor is not None]
        found = self._table.get_many([Key(self._pk, self._prefix + cursor) for cursor in given if cursor]) if given else {}
        known = {self.id_of(row) for row in select(self._there(list(found.values())))} if found else set()
        if asked.lost == "refused":
            for cursor in given:
                if cursor not in known:
                    raise no_entry(cursor)
        return tuple(cursor if cursor in known else None for cursor in (asked.after, asked.before))  # type: ignore[return-value]

    def _selected(self, span: IdRange, select: Select, *, descending: bool, first: int | None) -> Iterator[Item]:
        """The selected rows between two ids. The first read asks for `first` rows, further ones for more and more."""
        size = min(first if first is not None else MOST_AT_ONCE, MOST_AT_ONCE)
        while size > 0:
            rows = self._table.query(
                self._pk,
                after=None if span.after is None else self._prefix + span.after,
                before=None if span.before is None else self._prefix + span.before,
                prefix=self._prefix,
                limit=size,
                descending=descending,
            )
            yield from select(self._there(rows))
            if len(rows) < size:
                return
            last = self.id_of(rows[-1])
            span = IdRange(span.after, last) if descending else IdRange(last, span.before)
            size = min(2 * size, MOST_AT_ONCE)

    def _there(self, rows: Sequence[Item]) -> list[Item]:
        return [row for row in rows if self._mark in row]
