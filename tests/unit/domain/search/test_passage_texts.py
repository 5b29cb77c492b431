"""What may be put away: the bounds of texts and tags, and ids that sort by a given time."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.search.passage_texts import LONGEST_TAG, MOST_TAGS, MOST_TOKENS, checked
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.ids import as_of, compose, creation_time, is_id, order_of

MOMENTS = st.integers(0, 200 * 10**12).map(lambda microseconds: datetime.fromtimestamp(microseconds / 1000, UTC))


def test_a_text_is_kept_as_it_is_and_a_tag_once() -> None:
    assert checked(" Ann\x00 likes tea. ", ["b", "a", "b"]) == (" Ann likes tea. ", ["b", "a"])
    assert checked("x", None) == ("x", None)
    assert checked("?!", []) == ("?!", [])


@pytest.mark.parametrize("text", ["", " \n\t", "\x00"])
def test_nothing_is_no_passage(text: str) -> None:
    with pytest.raises(InvalidArgument, match="empty"):
        checked(text, None)


@pytest.mark.parametrize(("word", "tokens"), [("a ", 1), ("\U0001f600", 1), ("x" * 64 + " ", 9)])
def test_a_text_has_at_most_so_many_tokens(word: str, tokens: int) -> None:
    checked(word * (MOST_TOKENS // tokens // 2), None)
    with pytest.raises(InvalidArgument, match=str(MOST_TOKENS)):
        checked(word * (2 * MOST_TOKENS), None)


def test_a_long_text_of_few_tokens_is_counted_to_its_end() -> None:
    spaces = " " * 200_000 + "end"
    assert checked(spaces, None) == (spaces, None)
    with pytest.raises(InvalidArgument):
        checked(spaces + "end " * MOST_TOKENS, None)


@pytest.mark.parametrize("tag", ["a\x00", "a\nb", "<b>", "a>b"])
def test_a_tag_is_one_line_without_markup(tag: str) -> None:
    with pytest.raises(InvalidArgument, match="may not contain '<', '>' or control characters"):
        checked("x", ["a", tag])


def test_tags_have_bounds() -> None:
    most = [str(number).zfill(LONGEST_TAG) for number in range(MOST_TAGS)]
    assert checked("x", [*most, *most]) == ("x", most)
    for bad in ([*most, "one more"], ["t" * (LONGEST_TAG + 1)], [" "]):
        with pytest.raises(InvalidArgument, match="tags"):
            checked("x", bad)


@given(st.lists(MOMENTS, min_size=2, max_size=5))
def test_an_id_of_a_moment_sorts_there(moments: list[datetime]) -> None:
    fresh = [compose("passage", int(time.time() * 1000), number, 7) for number in range(len(moments))]
    ids = [as_of(one, moment) for one, moment in zip(fresh, moments, strict=True)]
    assert all(is_id(one, "passage") for one in ids)
    for one, moment in zip(ids, moments, strict=True):
        assert order_of(one)[0] == int(moment.timestamp() * 1000)
    by_time = sorted(range(len(ids)), key=lambda place: (int(moments[place].timestamp() * 1000), place))
    assert sorted(ids) == [ids[place] for place in by_time]


def test_a_moment_that_no_id_can_name_is_the_nearest_one() -> None:
    fresh = compose("passage", 1, 2, 3)
    assert creation_time(as_of(fresh, datetime(1066, 10, 14, tzinfo=UTC))) == datetime(1970, 1, 1, tzinfo=UTC)
    assert as_of(fresh, creation_time(fresh)) == fresh
