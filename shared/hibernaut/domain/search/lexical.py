"""Finding texts by their words, without an index: what memory search falls back on (architecture 7)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import TypeVar

from hibernaut.domain.search.words import terms, words

Found = TypeVar("Found")


def best(query: str, texts: Iterable[tuple[Found, str]], limit: int) -> Sequence[tuple[Found, float]]:
    """The `limit` best of (thing, text) pairs, best first, each with the share of the query's words that it holds; among equals the
    earlier in `texts`. Without words in the query: none."""
    wanted = {_plain(word) for word in terms(query)}
    scored = [(thing, _share(wanted, text)) for thing, text in texts]
    hits = [(thing, value) for thing, value in scored if value > 0]
    return sorted(hits, key=lambda hit: -hit[1])[:limit]


def _share(wanted: set[str], text: str) -> float:
    """Whole words count more than beginnings. 0: not at all."""
    if not wanted:
        return 0.0
    there = {_plain(word) for word in words(text)}
    whole = wanted & there
    begun = sum(1 for word in wanted - whole if len(word) > 2 and any(other.startswith(word) for other in there))
    return (len(whole) + 0.5 * begun) / len(wanted)


def _plain(word: str) -> str:
    """Without accents."""
    if word.isascii():
        return word
    return "".join(mark for mark in unicodedata.normalize("NFKD", word) if not unicodedata.combining(mark))
