"""The words of texts with combining marks."""

from __future__ import annotations

import unicodedata

import pytest

from hibernaut.domain.combining_marks import has_long_run, without_long_runs
from hibernaut.domain.search.words import words


@pytest.mark.parametrize("mark", ["\u0301", "\u0344", "\uff9e", "\u3099"])
def test_a_run_of_marks_is_cut_behind_the_thirtieth(mark: str) -> None:
    assert without_long_runs(f"a{mark * 30}b") == f"a{mark * 30}b"
    assert without_long_runs(f"a{mark * 31}b{mark}") == f"a{mark * 30}b{mark}"
    assert has_long_run(mark * 31)
    assert not has_long_run(f"{mark * 30} {mark * 30}")


def test_every_mark_that_normalization_moves_is_seen() -> None:
    characters = (chr(code) for code in range(0x80, 0x110000) if not 0xD800 <= code < 0xE000)
    moved = [one for one in characters if unicodedata.combining(unicodedata.normalize("NFKD", one)[0])]
    assert len(moved) > 800
    assert all(has_long_run(one * 31) for one in moved)


def test_signs_that_are_no_marks_stay() -> None:
    text = "—" * 100 + "🙂\u200d" * 50 + "é" * 40
    assert without_long_runs(text) == text


def test_words_with_many_marks_are_the_words_without() -> None:
    assert words("Zo" + "\u0308\u0316" * 500 + "e und ö") == ["zoe", "und", "o"]
