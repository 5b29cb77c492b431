"""What search takes for words, in every engine and without one: of a query, and of texts in scripts that put no blanks between words.

A word is a run of letters, marks and digits; case, accents and widths do not matter. Chinese, Japanese and Korean runs are cut into
overlapping pairs of characters, as OpenSearch's `cjk_bigram` does. Must not know: how an engine spells a query.
"""

from __future__ import annotations

import re
import unicodedata

MOST_TERMS = 64
"""Of a query; what follows does not count. More would cost time and find nothing better."""
_MOST_CHARACTERS = 10_000
_LONGEST_TERM = 255
_CJK = re.compile(
    "[\u1100-\u11ff\u3005\u3040-\u30ff\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f]+"
)
# English words that say nothing of what is looked for, and what an apostrophe leaves behind.
_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
    a about am an and any are as at be been but by can could d did do does for from had has have he her him his how i
    if in into is it its ll m me my no not of on or our re s she should so such t than that the their them then there
    these they this those to ve was we were what when where which who whom whose why will with would you your
    """,
    )
)
_ASCII = re.compile("[a-z0-9]+")
_PLAIN = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"})


def terms(query: str) -> list[str]:
    """The distinct words and pairs to look for, in order; stop words only where there is nothing else. Signs alone are no words."""
    found = dict.fromkeys(word for word in words(query[:_MOST_CHARACTERS]) if len(word) <= _LONGEST_TERM)
    telling = [word for word in found if word not in _STOP_WORDS]
    return (telling or list(found))[:MOST_TERMS]


def words(text: str) -> list[str]:
    """All words and pairs of a text, in order; accents stay."""
    plain = folded(text)
    if plain.isascii():
        return _ASCII.findall(plain)
    return paired("".join(mark if unicodedata.category(mark)[0] in "LMN" else " " for mark in plain)).split()


def folded(text: str) -> str:
    """The text in one case and width, without letters that have no plain form of their own. Accents stay."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text).casefold().translate(_PLAIN)


def paired(text: str) -> str:
    """The text, its Chinese, Japanese and Korean runs as pairs of characters with blanks between; a single character stays."""
    return text if text.isascii() else _CJK.sub(_pairs, text)


def _pairs(run: re.Match[str]) -> str:
    signs = run.group()
    pairs = [signs] if len(signs) == 1 else [signs[place : place + 2] for place in range(len(signs) - 1)]
    return f" {' '.join(pairs)} "
