"""BM25: how well a text answers a query by its terms. The one formula of every engine, and of search without an index.

    score  = sum over the query's terms of rarity * frequency * (K1 + 1) / (frequency + K1 * (1 - B + B * length / USUAL_LENGTH))
    rarity = ln(1 + (texts - holding + 0.5) / (holding + 0.5)), which is above 0

A text of usual length that holds each term once scores the sum of the rarities: the ceiling. Knows terms (`domain.search.words`),
no engine.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import starmap
from typing import Generic, TypeVar

from hibernaut.domain.search.words import stem, terms, words
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.search_index import WordCounts

K1, B = 1.2, 0.75
USUAL_LENGTH = 72.0
"""The number of terms against which lengths are weighed, in place of a mean: a score depends on no other text's length, and is
the same whatever an engine can count. On texts of 10 to 110 words it finds as much as the mean does (decision 17)."""
Found = TypeVar("Found")


def rarity(texts: int, holding: int) -> float:
    """The rarity of a term that `holding` of so many texts have: above 0, even if the counts contradict each other."""
    return math.log1p((max(texts, holding) - holding + 0.5) / (holding + 0.5))


def rarities(query_terms: Sequence[str], *counts: WordCounts) -> dict[str, float]:
    """The rarity of each term in all these texts together."""
    texts = sum(each.texts for each in counts)
    return {term: rarity(texts, sum(each.holding.get(term, 0) for each in counts)) for term in query_terms}


def saturation(frequency: int, length: int) -> float:
    """What a term counts for in a text of so many terms, as a multiple of its rarity: 0 to K1 + 1."""
    return frequency * (K1 + 1) / (frequency + K1 * (1 - B + B * length / USUAL_LENGTH))


@immutable
class Scan(Generic[Found]):
    """The occurrences of a query's terms in some texts: the texts with any of them, with their length and the terms'
    frequencies.
    """

    counts: WordCounts
    holders: Sequence[tuple[Found, int, Mapping[str, int]]]

    def scored(self, weights: Mapping[str, float]) -> list[tuple[Found, float]]:
        """The holders with their scores, best first, among equals the one that was read first. `weights`: the terms' rarities."""

        def score(thing: Found, length: int, frequencies: Mapping[str, int]) -> tuple[Found, float]:
            return thing, sum(weights[term] * saturation(count, length) for term, count in frequencies.items())

        return sorted(starmap(score, self.holders), key=lambda hit: -hit[1])


class _TermLookup(dict[str, str | None]):
    """A word's term, or None where the query does not ask for it: each word is stemmed once."""

    def __init__(self, query_terms: Sequence[str]) -> None:
        super().__init__()
        self._terms = frozenset(query_terms)

    def __missing__(self, word: str) -> str | None:
        term = stem(word)
        self[word] = found = term if term in self._terms else None
        return found


def scan(query_terms: Sequence[str], texts: Iterable[tuple[Found, str]]) -> Scan[Found]:
    """Read (thing, text) pairs once. `query_terms`: the query's terms."""
    lookup = _TermLookup(query_terms).__getitem__
    count, holding = 0, Counter[str]()
    holders: list[tuple[Found, int, Mapping[str, int]]] = []
    for thing, text in texts:
        found = words(text)
        count += 1
        if hits := list(filter(None, map(lookup, found))):
            frequencies = Counter(hits)
            holding.update(frequencies.keys())
            holders.append((thing, len(found), frequencies))
    return Scan(WordCounts(texts=count, holding=dict(holding)), holders)


def best(query: str, texts: Iterable[tuple[Found, str]], limit: int) -> list[tuple[Found, float]]:
    """The `limit` best of (thing, text) pairs, best first, with scores of 0 to 1: of these texts alone, as if they were all there
    are.
    """
    query_terms = terms(query)
    result = scan(query_terms, texts)
    weights = rarities(query_terms, result.counts)
    return shares(result.scored(weights), sum(weights.values()))[:limit]


def shares(scored: Sequence[tuple[Found, float]], ceiling: float) -> list[tuple[Found, float]]:
    """Scores as parts of the ceiling, or of the best where that is higher: 0 to 1. What has few of the query's terms stays low,
    also where nothing has more."""
    most = max((score for _, score in scored), default=0.0)
    return [(thing, score / max(most, ceiling)) for thing, score in scored]
