"""Two lists of hits made one: reciprocal rank fusion (Letta V1 runtime, digest 7.3). Knows ids and ranks, no engine and no scores."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

_OF_WORDS, _OF_MEANING = 0.4, 0.6
_FLATTENING = 5
"""V1 has 0.5 each and 60: then what stands low in both lists passes what stands first in one (`benchmarks/retrieval` has the figures)."""


@dataclass(frozen=True)
class Ranked:
    """A hit and where it stood in each list, counted from 1; None where a list did not hold it."""

    id: str
    score: float
    lexical_rank: int | None
    vector_rank: int | None


def fused(lexical: Sequence[str], vector: Sequence[str], limit: int, unseen: Collection[str] = ()) -> list[Ranked]:
    """The best `limit` ids of both lists, best first. An id counts where it stands first in a list.

    `unseen`: those that could not be in the list of vectors, for they have none. They count as if they stood there where they stand in
    the lexical one: being new is no fault. Among equals the one that stands higher in the lexical list comes first.
    """
    by_words, by_meaning = _ranks(lexical), _ranks(vector)
    guessed = {each: rank for each, rank in by_words.items() if each in unseen} | by_meaning
    ranked = [
        Ranked(
            each,
            _share(_OF_WORDS, by_words.get(each)) + _share(_OF_MEANING, guessed.get(each)),
            by_words.get(each),
            by_meaning.get(each),
        )
        for each in dict.fromkeys((*lexical, *vector))
    ]
    return sorted(ranked, key=lambda hit: -hit.score)[: max(limit, 0)]


def _ranks(ids: Sequence[str]) -> dict[str, int]:
    ranks: dict[str, int] = {}
    for rank, each in enumerate(ids, 1):
        ranks.setdefault(each, rank)
    return ranks


def _share(weight: float, rank: int | None) -> float:
    return 0.0 if rank is None else weight / (_FLATTENING + rank)
