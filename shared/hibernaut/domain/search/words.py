"""The analysis of search: the terms of a text and of a query, the same for every engine and without one.

A word is a run of letters, marks and digits; case, accents and widths do not matter. Chinese, Japanese and Korean runs are cut
into overlapping pairs of characters. A term is the stem of a word (Snowball's English stemmer, which leaves words of other
scripts as they are). Engines store terms and cut nothing themselves. Must not know: how an engine spells a query.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from hibernaut.domain.combining_marks import without_long_runs

MOST_TERMS = 64
"""Of a query; what follows does not count. More would cost time and find nothing better."""
_MOST_CHARACTERS = 10_000
_LONGEST_TERM = 255
_REMEMBERED_STEMS = 50_000
_CJK = re.compile(
    "[\u1100-\u11ff\u3005\u3040-\u30ff\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f]+"
)
# English words without meaning for a search, and the remnants of an apostrophe.
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
_ACCENTS = re.compile("[\u0300-\u036f]+")
_SIMPLE = re.compile("[\u0000-\u0482]*")
"""Scripts whose marks are all accents: Latin, Greek, Cyrillic."""
_WORD = re.compile(r"[^\W_]+")
_PLAIN = {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
"""Letters that no decomposition makes plain."""
_NOT_PLAIN = re.compile(f"[{''.join(_PLAIN)}]")
_TYPOGRAPHY = re.compile("[\u00b7\u2010-\u2027\u2030-\u205e\u20ac\u2122\u2190-\u21ff]")
"""Dashes, quotes, ellipses, arrows: they separate words, and occur in texts that are otherwise plain."""


def terms(query: str) -> list[str]:
    """The distinct terms to look for, at most 64, in order; stop words only where there is nothing else. Signs alone are no
    words.
    """
    found = dict.fromkeys(words(query[:_MOST_CHARACTERS]))
    telling = [word for word in found if word not in _STOP_WORDS]
    return list(dict.fromkeys(map(stem, telling or found)))[:MOST_TERMS]


def analysed(text: str) -> list[str]:
    """All terms of a text, in order."""
    return list(map(stem, words(text)))


def words(text: str) -> list[str]:
    """All words and pairs of a text, in order, without accents. A sequence of more than 255 characters is no word."""
    if not text.isascii():
        text = _TYPOGRAPHY.sub(" ", text)
    if text.isascii():
        found = text.translate(_ASCII).split()
    elif (latin := _latin(text)) is not None:
        found = latin
    else:
        found = _any_script(text)
    if max(map(len, found), default=0) <= _LONGEST_TERM:
        return found
    return [word for word in found if len(word) <= _LONGEST_TERM]


@lru_cache(maxsize=_REMEMBERED_STEMS)
def stem(word: str) -> str:
    """The English stem. A stemmer is no thread's but the caller's: each call that is not remembered makes one, in a
    microsecond.
    """
    from Stemmer import Stemmer

    return str(Stemmer("english", 0).stemWord(word))


def _latin(text: str) -> list[str] | None:
    """The words of a text in a western European script; None where it holds other characters."""
    try:
        plain = text.encode("latin-1").translate(_LATIN)
    except UnicodeEncodeError:
        return None
    if b"\x00" in plain:
        return None
    for sign, letters in _LIGATURES:
        plain = plain.replace(sign, letters)
    return plain.decode("ascii").split()


def _any_script(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", without_long_runs(text)).casefold()
    plain = _NOT_PLAIN.sub(lambda letter: _PLAIN[letter.group()], plain)
    plain = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", plain)))
    if _SIMPLE.fullmatch(plain):
        return _WORD.findall(plain)
    return _CJK.sub(_pairs, "".join(mark if unicodedata.category(mark)[0] in "LMN" else " " for mark in plain)).split()


def _pairs(run: re.Match[str]) -> str:
    signs = run.group()
    pairs = [signs] if len(signs) == 1 else [signs[place : place + 2] for place in range(len(signs) - 1)]
    return f" {' '.join(pairs)} "


def _ascii_table() -> str:
    return "".join(chr(code).lower() if chr(code).isalnum() else " " for code in range(128))


def _latin_table() -> bytes:
    """Each byte as the letter that it is without case and accent, as a blank, as one of the ligatures' signs, or, where it is
    none of these, as NUL: then the text is read character by character."""
    table = bytearray(_ascii_table(), "ascii")
    for code in range(128, 256):
        found = _any_script(chr(code))
        sign = next((sign for sign, letters in _LIGATURES if found == [letters.decode()]), None)
        table += sign or (found[0].encode() if len("".join(found)) == 1 and found[0].isascii() else b"\x00" if found else b" ")
    return bytes(table)


_LIGATURES = ((b"\x01", b"ss"), (b"\x02", b"ae"), (b"\x03", b"th"))
_ASCII = _ascii_table()
_LATIN = _latin_table()
