"""Lists of rows in one partition, in the order of their ids, which is that of their making: pages that read as many rows as they show.

What needs another order, or counts over all rows, reads all of them; what filters, reads on until the page is full.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from itertools import groupby, islice

from hibernaut.domain.wire.listing import Page, no_entry
from hibernaut.ports.table import Item, Key
from hibernaut.store.logs import IdRange
from hibernaut.store.tenant_table import TenantTable

MOST_AT_ONCE = 500
"""Rows of one read."""
Select = Callable[[Sequence[Item]], Sequence[Item]]
"""Which of the rows of one read are shown, in their order. It may look up what rows refer to, for all of them at once."""


class RowList:
    """The rows under `pk` whose sort keys are one of the prefixes and an id.

    `mark`: an attribute that a row has which is there; one without it is what a late write has left of a row that was deleted.
    `beside`: further rows, in the order of their ids, which the code knows and the table does not hold.
    With several prefixes the list is their union: an id that stands under more than one is there once.
    """

    def __init__(self, table: TenantTable, pk: str, *prefixes: str, mark: str = "pk", beside: Sequence[Item] = ()) -> None:
        self._table = table
        self._pk, self._mark = pk, mark
        self._prefixes = prefixes or ("",)
        self._beside = beside

    def id_of(self, row: Item) -> str:
        return str(row["sk"]).rsplit("#", 1)[-1]

    def all(self) -> list[Item]:
        """Every row, oldest first."""
        return self._there(self._read(IdRange(), None, descending=False))

    def count(self) -> int:
        """How many rows there are, counted by the engine. Of a union, the rows under every prefix are counted."""
        stored = sum(self._table.count(self._pk, prefix=prefix, having=self._mark) for prefix in self._prefixes)
        return stored + len(self._beside)

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
        return bool(identifier and self._there(self._of_ids([identifier])))

    def walk(self, after: str | None = None, *, descending: bool = False, first: int | None = None) -> Iterator[Item]:
        """The rows behind a cursor, read as far as they are asked for, `first` of them at once."""
        span = IdRange(None, after) if descending else IdRange(after, None)
        return self._selected(span, lambda rows: rows, descending=descending, first=first)

    def _cursors(self, asked: Page, select: Select) -> tuple[str | None, str | None]:
        """`after` and `before`, each None where it is not given, or unknown and ignored."""
        given = [cursor for cursor in (asked.after, asked.before) if cursor is not None]
        found = self._of_ids([cursor for cursor in given if cursor]) if given else []
        known = {self.id_of(row) for row in select(self._there(found))} if found else set()
        if asked.lost == "refused":
            for cursor in given:
                if cursor not in known:
                    raise no_entry(cursor)
        return tuple(cursor if cursor in known else None for cursor in (asked.after, asked.before))  # type: ignore[return-value]

    def _selected(self, span: IdRange, select: Select, *, descending: bool, first: int | None) -> Iterator[Item]:
        """The selected rows between two ids. The first read asks for `first` rows, further ones for more and more."""
        size = min(first if first is not None else MOST_AT_ONCE, MOST_AT_ONCE)
        while size > 0:
            rows = self._read(span, size, descending=descending)
            yield from select(self._there(rows))
            if len(rows) < size:
                return
            last = self.id_of(rows[-1])
            span = IdRange(span.after, last) if descending else IdRange(last, span.before)
            size = min(2 * size, MOST_AT_ONCE)

    def _of_ids(self, ids: Sequence[str]) -> list[Item]:
        """The rows with these ids."""
        wanted = [Key(self._pk, prefix + identifier) for prefix in self._prefixes for identifier in ids]
        return [*self._table.get_many(wanted).values(), *(row for row in self._beside if self.id_of(row) in ids)]

    def _read(self, span: IdRange, size: int | None, *, descending: bool) -> list[Item]:
        """The first `size` rows between two ids, of all prefixes together; fewer only where there are no more."""
        found = [self._query(prefix, span, size, descending=descending) for prefix in self._prefixes]
        if self._beside:
            between = [row for row in self._beside if _is_between(self.id_of(row), span)]
            found.append(between[::-1] if descending else between)
        if len(found) == 1:
            return found[0]
        together = merge(*found, key=self.id_of, reverse=descending)
        return list(islice((next(rows) for _, rows in groupby(together, key=self.id_of)), size))

    def _query(self, prefix: str, span: IdRange, size: int | None, *, descending: bool) -> list[Item]:
        return self._table.query(
            self._pk,
            after=None if span.after is None else prefix + span.after,
            before=None if span.before is None else prefix + span.before,
            prefix=prefix,
            limit=size,
            descending=descending,
        )

    def _there(self, rows: Sequence[Item]) -> list[Item]:
        return [row for row in rows if self._mark in row]


def _is_between(identifier: str, span: IdRange) -> bool:
    return (span.after is None or span.after < identifier) and (span.before is None or identifier < span.before)
