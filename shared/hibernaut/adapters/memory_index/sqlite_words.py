"""Hits by words in the tables of a tenant's part of a space: FTS5 finds and counts, this module weighs.

FTS5's `bm25` gives no weight to a term in more than half of the texts, ignores texts that wait for the index, and relates
lengths to the mean of all texts. So each term is queried separately, its frequency is derived from FTS5's score, and the port's
formula (`domain.search.bm25`) is applied to it.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence

from hibernaut.adapters.memory_index.sqlite_queries import filters
from hibernaut.domain.search.bm25 import K1, USUAL_LENGTH, B, rarities
from hibernaut.domain.search.words import terms
from hibernaut.schemas.memory.search_index import IndexHit, IndexQuery, WordCounts

_LEAST_OF_FTS5 = 1e-6
"""The rarity that FTS5 gives to a term which more than half of the texts hold (SQLite's fts5_aux.c)."""


# What FTS5's score is without its rarity, `part`, is f * (K1 + 1) / (f + own); so f = own * part / (K1 + 1 - part).
_FREQUENCY = "own * part / (:k1 + 1 - part)"
_SATURATION = f"({_FREQUENCY}) * (:k1 + 1) / ({_FREQUENCY} + :k1 * (1 - :b + :b * length / :usual))"


def counts(reader: sqlite3.Connection, number: int, query_terms: Sequence[str]) -> tuple[WordCounts, float]:
    """The number of texts with each term, and the mean length of the texts, which FTS5 uses."""
    texts, total = reader.execute("SELECT texts, terms FROM space WHERE number = ?", (number,)).fetchone()
    if not texts or not query_terms:
        return WordCounts(texts=texts), 0.0
    counting = ", ".join(f"(SELECT count(*) FROM words_{number} WHERE words_{number} MATCH ?)" for _ in query_terms)
    found = reader.execute(f"SELECT {counting}", [_quoted(term) for term in query_terms]).fetchone()
    return WordCounts(texts=texts, holding=dict(zip(query_terms, found, strict=True))), total / texts


def by_words(reader: sqlite3.Connection, number: int, query: IndexQuery) -> tuple[tuple[IndexHit, ...], WordCounts]:
    """The hits, best first, then newer first, and the counts of the terms."""
    query_terms = terms(query.text or "")
    own, mean_length = counts(reader, number, query_terms)
    weights = rarities(query_terms, own, query.unindexed)
    found_terms = [term for term in query_terms if own.holding.get(term)]
    if not found_terms:
        return (), own
    words = f"words_{number}"
    arms = " UNION ALL ".join(
        f"SELECT rowid AS row, -bm25({words}) / :fts{place} AS part, :weight{place} AS weight FROM {words} WHERE {words} MATCH :term{place}"
        for place in range(len(found_terms))
    )
    where, values = filters(number, query)
    named: dict[str, str | float] = {f"filter{place}": value for place, value in enumerate(values)}
    for place, term in enumerate(found_terms):
        fts = _rarity_of_fts5(own.texts, own.holding[term])
        named |= {f"fts{place}": fts, f"weight{place}": weights[term], f"term{place}": _quoted(term)}
    numbered = "".join(f"{part}:filter{place}" for place, part in enumerate(where.split("?")[:-1])) + where.split("?")[-1]
    found = reader.execute(
        f"WITH hit AS MATERIALIZED ({arms}), measured AS (SELECT d.id, d.created, d.embedded, d.before, d.row, d.length, hit.part, hit.weight,"
        f" :k1 * (1 - :b + :b * d.length / :mean) AS own FROM hit JOIN document_{number} d ON d.row = hit.row WHERE {numbered})"
        f" SELECT id, sum(weight * {_SATURATION}) AS score, embedded, before FROM measured GROUP BY row"
        " ORDER BY round(score, 9) DESC, created DESC, id LIMIT :most",
        {**named, "k1": K1, "b": B, "mean": mean_length, "usual": USUAL_LENGTH, "most": query.limit},
    )
    return tuple(IndexHit(id=name, score=score, embedded=bool(has), before=before) for name, score, has, before in found), own


def _quoted(term: str) -> str:
    """The term as FTS5 takes a word, so that none is an operator."""
    return f'"{term}"'


def _rarity_of_fts5(texts: int, holding: int) -> float:
    return max(math.log((texts - holding + 0.5) / (holding + 0.5)), _LEAST_OF_FTS5)
