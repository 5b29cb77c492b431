"""The texts of memory tools: what is counted before it is made, and how much a refusal names."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.memory.memory_texts import NAMED, Refused, replaced_everywhere, replaced_once


@given(st.text("ab", max_size=12), st.text("ab", min_size=1, max_size=3), st.text("abc", max_size=4), st.integers(0, 30))
def test_a_replacement_is_made_unless_it_makes_the_value_too_long(value: str, old: str, new: str, most: int) -> None:
    result = value.replace(old, new)
    if old in value and (len(result) <= most or len(result) <= len(value)):
        assert replaced_everywhere(value, old, new, most) == result
    else:
        with pytest.raises(Refused):
            replaced_everywhere(value, old, new, most)


def test_no_text_is_made_that_is_refused() -> None:
    value, new = "a" * 50_000, "b" * 10_000
    tracemalloc.start()
    try:
        with pytest.raises(Refused, match="500000000 characters"):
            replaced_everywhere(value, "a", new, 100_000)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_refusal_names_the_first_lines() -> None:
    with pytest.raises(Refused) as refused:
        replaced_once("x\na a\n" * 1_000, "a", "b")
    assert "2000 times" in str(refused.value)
    assert f"in lines 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14, 16, 16, 18, 18, 20, {NAMED}, …." in str(refused.value)
    with pytest.raises(Refused, match=r"in lines 1, 3\."):
        replaced_once("a\nb\na", "a", "b")
