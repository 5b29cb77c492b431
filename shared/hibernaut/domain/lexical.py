"""Finding texts by their words, without an index: what memory search falls back on (architecture 7)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TypeVar

_WORD = re.compile(r"\w+", re.UNICODE)
Found = TypeVar("Found")


def words(text: str) -> frozenset[str]:
    """The words of a text, without case and accents."""
    plain = "".join(mark for mark in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(mark))
    return frozenset(_WORD.findall(plain))


def score(query: frozenset[str], text: str) -> float:
    """How well a text answers: the share of the query's words that it holds, whole words counting more than beginnings. 0: not at all."""
    if not query:
        return 0.0
    there = words(text)
    whole = query & there
    begun = sum(1 for word in query - whole if len(word) > 2 and any(other.startswith(word) for other in there))
    return (len(whole) + 0.5 * begun) / len(query)


def best(query: str, texts: Iterable[tuple[Found, str]], limit: int) -> Sequence[tuple[Found, float]]:
    """The `limit` best of (thing, text) pairs, best first; among equals the earlier in `texts`. Without words in the query: none."""
    wanted = words(query)
    scored = [(thing, score(wanted, text)) for thing, text in texts]
    hits = [(thing, value) for thing, value in scored if value > 0]
    return sorted(hits, key=lambda hit: -hit[1])[:limit]
