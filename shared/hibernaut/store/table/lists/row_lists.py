"""Lists of the rows in one partition, in the order of their ids, which is the order of creation. A page reads no more rows than
it shows.

A list in another order reads all rows. A filtered page reads rows until it is full.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from itertools import groupby, islice

from hibernaut.domain.wire.listing import Page, no_entry
from hibernaut.ports.storage.table import Item, Key, Query
from hibernaut.store.table.lists.logs import IdRange
from hibernaut.store.table.tenant_table import TenantTable

MOST_AT_ONCE = 500
"""Rows of one read."""
Select = Callable[[Sequence[Item]], Sequence[Item]]
"""A filter: returns the selected rows of one read in their order. It may look up the records of all these rows at once."""


class RowList:
    """The rows of the partition `pk` whose sort keys are one of the prefixes and an id. Reads raise StoreUnavailable
    (`store.table.retries`).

    With several prefixes the list is their union: an id under more than one prefix appears once. `mark`: an attribute of every
    row. An item without it is no row: a late write has recreated the item after its deletion. `extra_rows`: further rows in the
    order of their ids, which come from the code and are not in the table.
    """

    def __init__(self, table: TenantTable, pk: str, *prefixes: str, mark: str = "pk", extra_rows: Sequence[Item] = ()) -> None:
        self._table = table
        self._pk, self._mark = pk, mark
        self._prefixes = prefixes or ("",)
        self._extra_rows = extra_rows

    def id_of(self, row: Item) -> str:
        """The id in a row's sort key."""
        return str(row["sk"]).rsplit("#", 1)[-1]

    def all(self) -> list[Item]:
        """Every row, oldest first."""
        return self._existing(self._read(IdRange(), None, descending=False))

    def count(self) -> int:
        """The number of rows. The engine counts them. In a union, an id counts once for each prefix that it is under."""
        count = sum(self._table.count(self._pk, prefix=prefix, having=self._mark) for prefix in self._prefixes)
        return count + len(self._extra_rows)

    def page(self, request: Page, select: Select = lambda rows: rows) -> list[Item]:
        """The same page as `domain.wire.listing.page` over the selected rows by creation, without a read of the rows before the
        page.

        Raises: NotFound for a cursor that is no selected row's id, unless `request.lost` is "ignored".
        """
        after, before = self._cursors(request, select)
        # A page before a cursor holds the rows next to it, so it is read from there.
        backwards = before is not None and after is None and request.limit is not None
        span = IdRange(before, after) if request.descending else IdRange(after, before)
        rows = self._selected(span, select, descending=request.descending is not backwards, first=request.limit)
        found = list(islice(rows, request.limit))
        return found[::-1] if backwards else found

    def has(self, identifier: str) -> bool:
        """Whether there is a row with this id."""
        return bool(identifier and self._existing(self._of_ids([identifier])))

    def walk(self, after: str | None = None, *, descending: bool = False, first: int | None = None) -> Iterator[Item]:
        """The rows after the cursor `after` (None: all), read lazily. `first`: the number of rows of the first read."""
        span = IdRange(None, after) if descending else IdRange(after, None)
        return self._selected(span, lambda rows: rows, descending=descending, first=first)

    def _cursors(self, request: Page, select: Select) -> tuple[str | None, str | None]:
        """The cursors `after` and `before`; None for one that is absent, or unknown and ignored. Raises: NotFound."""
        cursors = [cursor for cursor in (request.after, request.before) if cursor is not None]
        found = self._of_ids([cursor for cursor in cursors if cursor]) if cursors else []
        existing = {self.id_of(row) for row in select(self._existing(found))} if found else set()
        if request.lost == "refused":
            for cursor in cursors:
                if cursor not in existing:
                    raise no_entry(cursor)
        return tuple(cursor if cursor in existing else None for cursor in (request.after, request.before))  # type: ignore[return-value]

    def _selected(self, span: IdRange, select: Select, *, descending: bool, first: int | None) -> Iterator[Item]:
        """The selected rows between two ids. The first read takes `first` rows; each further read takes twice as many, up to
        `MOST_AT_ONCE`.
        """
        size = min(first if first is not None else MOST_AT_ONCE, MOST_AT_ONCE)
        while size > 0:
            rows = self._read(span, size, descending=descending)
            yield from select(self._existing(rows))
            if len(rows) < size:
                return
            last = self.id_of(rows[-1])
            span = IdRange(span.after, last) if descending else IdRange(last, span.before)
            size = min(2 * size, MOST_AT_ONCE)

    def _of_ids(self, ids: Sequence[str]) -> list[Item]:
        """The rows with these ids."""
        row_keys = [Key(self._pk, prefix + identifier) for prefix in self._prefixes for identifier in ids]
        return [*self._table.get_many(row_keys).values(), *(row for row in self._extra_rows if self.id_of(row) in ids)]

    def _read(self, span: IdRange, size: int | None, *, descending: bool) -> list[Item]:
        """The first `size` rows between two ids, of all prefixes together; fewer than `size` only at the end of the list."""
        found = self._table.query_many([self._query(prefix, span, size, descending=descending) for prefix in self._prefixes])
        if self._extra_rows:
            between = [row for row in self._extra_rows if _is_between(self.id_of(row), span)]
            found.append(between[::-1] if descending else between)
        if len(found) == 1:
            return found[0]
        merged_rows = merge(*found, key=self.id_of, reverse=descending)
        return list(islice((next(rows) for _, rows in groupby(merged_rows, key=self.id_of)), size))

    def _query(self, prefix: str, span: IdRange, size: int | None, *, descending: bool) -> Query:
        return Query(
            self._pk,
            after=None if span.after is None else prefix + span.after,
            before=None if span.before is None else prefix + span.before,
            prefix=prefix,
            limit=size,
            descending=descending,
        )

    def _existing(self, rows: Sequence[Item]) -> list[Item]:
        return [row for row in rows if self._mark in row]


def _is_between(identifier: str, span: IdRange) -> bool:
    return (span.after is None or span.after < identifier) and (span.before is None or identifier < span.before)
