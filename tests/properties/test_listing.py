"""What pages of a list promise, for any rows, any order and any size of page."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.wire.listing import Cursor, Page, filtered_page, in_order, page
from hibernaut.schemas.errors import NotFound


class Row(NamedTuple):
    id: str
    place: str | None


rows = st.lists(
    st.builds(Row, st.text("abcdef", min_size=1, max_size=3), st.none() | st.sampled_from(["", "1", "2", "3"])),
    unique_by=lambda row: row.id,
    max_size=12,
)
sizes = st.integers(1, 5)


def ordered(found: list[Row], descending: bool) -> list[Row]:
    return in_order(found, id_of=lambda row: row.id, place=lambda row: row.place, descending=descending)


def asked(found: list[Row], wanted: Page) -> list[Row]:
    return page(found, wanted, id_of=lambda row: row.id, place=lambda row: row.place)


@given(rows, sizes, st.booleans())
def test_going_forward_by_the_last_id_meets_every_row_once_in_order(found: list[Row], limit: int, descending: bool) -> None:
    met: list[Row] = []
    while part := asked(found, Page(limit=limit, after=met[-1].id if met else None, descending=descending)):
        met += part
    assert met == ordered(found, descending)


@given(rows, sizes, st.booleans())
def test_going_backward_by_the_first_id_meets_every_row_once_in_order(found: list[Row], limit: int, descending: bool) -> None:
    whole = ordered(found, descending)
    met = whole[-1:]
    while met and (part := asked(found, Page(limit=limit, before=met[0].id, descending=descending))):
        assert len(part) <= limit
        met = [*part, *met]
    assert met == whole


@given(rows, st.booleans())
def test_rows_stand_in_the_order_of_their_places_and_those_without_one_last(found: list[Row], descending: bool) -> None:
    places = [row.place or None for row in ordered(found, descending)]
    placed = [place for place in places if place is not None]
    assert places == sorted(placed, reverse=descending) + [None] * (len(places) - len(placed))


@given(rows, st.data())
def test_between_two_cursors_lie_the_rows_between_them(found: list[Row], data: st.DataObject) -> None:
    whole = ordered(found, True)
    first, last = sorted(data.draw(st.tuples(st.integers(0, 11), st.integers(0, 11))))
    if last >= len(whole):
        return
    wanted = Page(after=whole[first].id, before=whole[last].id, descending=True)
    assert asked(found, wanted) == whole[first + 1 : last]


@given(rows)
def test_an_unknown_cursor_is_refused_unless_it_is_to_be_ignored(found: list[Row]) -> None:
    with pytest.raises(NotFound):
        asked(found, Page(after="unknown"))
    assert asked(found, Page(before="unknown", lost="ignored")) == ordered(found, False)


@given(st.lists(st.booleans(), max_size=20), sizes, sizes)
def test_a_list_that_is_looked_through_in_parts_shows_all_that_passes(passing: list[bool], limit: int, most: int) -> None:
    met: list[int] = []
    start: int = 0
    cursor: Cursor = "after"
    while True:
        left = range(start, len(passing))
        found = filtered_page(left, passing.__getitem__, limit=limit, most=most, cursor=cursor, id_of=str)
        assert len(found.rows) <= limit
        met += found.rows
        if found.rest is not None:
            assert found.rest[0] == cursor
            assert (len(found.rows), int(found.rest[1])) < (limit, start + most)
            start = int(found.rest[1]) + 1
        elif len(found.rows) == limit:
            start = found.rows[-1] + 1
        else:
            break
    assert met == [place for place, passes in enumerate(passing) if passes]
