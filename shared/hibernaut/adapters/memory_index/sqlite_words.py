"""Hits by words in the tables of a tenant's part of a space: FTS5 finds and measures, the rarities are ours.

FTS5's `bm25` takes a term for worthless that more than half of the texts hold, and knows nothing of texts that wait for the index. So each
term is asked for alone, FTS5's own rarity is divided out of its score, and the port's (`domain.search.bm25`) is put in its place.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence

from hibernaut.adapters.memory_index.sqlite_queries import filters
from hibernaut.domain.search.bm25 import rarities
from hibernaut.domain.search.words import terms
from hibernaut.schemas.search import IndexHit, IndexQuery, WordCounts

_LEAST_OF_FTS5 = 1e-6
"""The rarity that FTS5 gives to a term which more than half of the texts hold (SQLite's fts5_aux.c)."""


def counts(reader: sqlite3.Connection, number: int, wanted: Sequence[str]) -> tuple[WordCounts, float]:
    """How the terms are spread over the texts, and the mean length of these."""
    texts, total = reader.execute("SELECT texts, terms FROM space WHERE number = ?", (number,)).fetchone()
    if not texts or not wanted:
        return WordCounts(texts=texts), 0.0
    counting = ", ".join(f"(SELECT count(*) FROM words_{number} WHERE words_{number} MATCH ?)" for _ in wanted)
    found = reader.execute(f"SELECT {counting}", [_quoted(term) for term in wanted]).fetchone()
    return WordCounts(texts=texts, holding=dict(zip(wanted, found, strict=True))), total / texts


def by_words(reader: sqlite3.Connection, number: int, query: IndexQuery) -> tuple[tuple[IndexHit, ...], WordCounts, float]:
    """Best first, among equals the newer first; with what the scores were made of."""
    wanted = terms(query.text or "")
    own, mean_length = counts(reader, number, wanted)
    weights = rarities(wanted, own, query.beside)
    held = [term for term in wanted if own.holding.get(term)]
    if not held:
        return (), own, mean_length
    arm = f"SELECT rowid AS row, -bm25(words_{number}) * ? AS part FROM words_{number} WHERE words_{number} MATCH ?"
    arms = " UNION ALL ".join([arm] * len(held))
    factors = [weights[term] / _rarity_of_fts5(own.texts, own.holding[term]) for term in held]
    where, values = filters(number, query)
    found = reader.execute(
        f"WITH hit AS MATERIALIZED ({arms}) SELECT d.id, sum(hit.part) AS score, d.embedded FROM hit JOIN document_{number} d ON d.row = hit.row"
        f" WHERE {where} GROUP BY d.row ORDER BY round(score, 9) DESC, d.created DESC, d.id LIMIT ?",
        (*(each for factor, term in zip(factors, held, strict=True) for each in (factor, _quoted(term))), *values, query.limit),
    )
    return tuple(IndexHit(id=name, score=score, embedded=bool(has)) for name, score, has in found), own, mean_length


def _quoted(term: str) -> str:
    """The term as FTS5 takes a word, so that none is an operator."""
    return f'"{term}"'


def _rarity_of_fts5(texts: int, holding: int) -> float:
    return max(math.log((texts - holding + 0.5) / (holding + 0.5)), _LEAST_OF_FTS5)
