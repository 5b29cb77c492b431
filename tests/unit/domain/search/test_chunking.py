"""Texts in pieces: nothing is lost, nothing is too large, and the cuts are where the text pauses."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.models import tokens
from hibernaut.domain.search import chunking
from hibernaut.domain.search.chunking import LARGEST_RATE, Chunk

Counter = Callable[[str], int]


def chunks(text: str, limit: int, count: Counter, overlap: int = 0) -> list[Chunk]:
    return list(chunking.chunks(text, limit, count, overlap))


def words(text: str) -> int:
    return len(text.split())


COUNTERS: dict[str, Counter] = {
    "characters": len,
    "words": words,
    "quarters": lambda text: -(-len(text) // 4),
    "bytes": lambda text: len(text.encode("utf-8", "replace")),
    "tokens": tokens.count,
    "nothing": lambda _: 0,
}
TEXTS = st.lists(
    st.one_of(
        st.text(max_size=20),
        st.sampled_from(
            ["word ", "A sentence ends here. ", "\n\n", "\n", "  ", "\t", "x" * 70, "文字。", "# Heading\n", "\u2028", "\0"]
        ),
    ),
    max_size=60,
).map("".join)


@given(text=TEXTS, limit=st.integers(1, 40), overlap=st.integers(0, 50), counter=st.sampled_from(sorted(COUNTERS)))
def test_pieces_fit_stand_in_order_and_hold_every_character_that_is_no_space(
    text: str, limit: int, overlap: int, counter: str
) -> None:
    count = COUNTERS[counter]
    found = chunks(text, limit, count, overlap)
    covered = set[int]()
    for piece in found:
        assert piece.text == text[piece.start : piece.end] == piece.text.strip() != ""
        assert count(piece.text) <= limit or len(piece.text) == 1
        covered.update(range(piece.start, piece.end))
    assert {place for place, character in enumerate(text) if not character.isspace()} <= covered
    assert all(one.start < other.start and one.end < other.end for one, other in pairwise(found))
    if not overlap:
        assert all(one.end <= other.start for one, other in pairwise(found))
    assert chunks(text, limit, count, overlap) == found


@given(text=TEXTS, limits=st.tuples(st.integers(1, 40), st.integers(1, 40)), overlap=st.integers(0, 50), stop=st.integers(1, 6))
def test_another_counter_goes_on_where_one_has_stopped(text: str, limits: tuple[int, int], overlap: int, stop: int) -> None:
    before = chunks(text, limits[0], len, overlap)[:stop]
    after = before[-1] if before else None
    found = [*before, *chunking.chunks(text, limits[1], words, overlap, after=after)]
    covered = {place for piece in found for place in range(piece.start, piece.end)}
    assert {place for place, character in enumerate(text) if not character.isspace()} <= covered
    assert all(one.start < other.start and one.end < other.end for one, other in pairwise(found))
    if not overlap:
        assert all(one.end <= other.start for one, other in pairwise(found))


@pytest.mark.parametrize("text", ["", " ", "\n\n\t\u2003 "])
def test_a_text_of_white_space_has_no_pieces(text: str) -> None:
    assert chunks(text, 10, len) == []


def test_a_text_that_fits_is_one_piece_without_the_space_around_it() -> None:
    assert chunks("\n one two \n", 10, words) == [Chunk("one two", 2, 9)]


def test_paragraphs_come_before_lines_and_lines_before_sentences_and_words() -> None:
    def ends(text: str) -> list[str]:
        return [piece.text[-1] for piece in chunks(text, 40, len)]

    sentence = "Some ten words or so stand in it."
    assert ends(f"{sentence}\n\n{sentence} {sentence}") == [".", ".", "."]
    assert [piece.text for piece in chunks("one two three, four five\nsix seven eight nine ten", 30, len)] == [
        "one two three, four five",
        "six seven eight nine ten",
    ]
    assert all(re.fullmatch(r"\w+( \w+)*", piece.text) for piece in chunks("word " * 100, 33, len))
    assert chunks("First one here. Second one is here too", 30, len)[0].text == "First one here."


def test_a_word_longer_than_a_piece_is_cut_anywhere() -> None:
    assert [len(piece.text) for piece in chunks("x" * 100, 40, len)][:2] == [38, 38]


def test_a_character_that_is_too_much_by_itself_is_a_piece() -> None:
    assert [piece.text for piece in chunks("é a", 1, COUNTERS["bytes"])] == ["é", "a"]


def test_pieces_of_even_text_are_nearly_full() -> None:
    found = chunks("word " * 10_000, 100, words)
    assert sum(words(piece.text) for piece in found[1:-1]) / len(found[1:-1]) > 85


def test_a_piece_repeats_the_end_of_the_one_before() -> None:
    found = chunks(" ".join(f"w{number:03}" for number in range(500)), 50, words, overlap=10)
    for one, other in pairwise(found):
        shared = words(one.text[other.start - one.start :])
        assert 5 <= shared <= 15


def test_a_text_of_which_the_counter_sees_nothing_has_pieces_of_a_largest_length() -> None:
    assert max(len(piece.text) for piece in chunks("x" * 100_000, 100, lambda _: 1)) <= 100 * LARGEST_RATE


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="room for one token"):
        chunks("one", 0, len)


@pytest.mark.parametrize(
    "text", ["Plain prose goes on. " * 20_000, "x" * 400_000, "\n" * 400_000, "文字" * 50_000, "a\n\n" * 100_000]
)
def test_the_counter_reads_the_text_hardly_more_than_once(text: str) -> None:
    read = 0

    def count(piece: str) -> int:
        nonlocal read
        read += len(piece)
        return -(-len(piece) // 3)

    chunks(text, 254, count)
    assert read <= 1.3 * len(text) + 1000
