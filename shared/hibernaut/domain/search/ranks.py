"""Two lists of hits made one: reciprocal rank fusion (Letta V1 runtime, digest 7.3). Knows ids, ranks and shares of words, no engine."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

_WEIGHT = 0.5
_FLATTENING = 5
"""V1 has 60, and heeds no shares: then what stands low in both lists passes what stands first in one, and a text that has one of a
question's six words by chance passes the one that is meant (`benchmarks/retrieval` has the figures)."""
_STEEPNESS = 3


@dataclass(frozen=True)
class Ranked:
    """A hit and where it stood in each list, counted from 1; None where a list did not hold it."""

    id: str
    score: float
    lexical_rank: int | None
    vector_rank: int | None


def fused(lexical: Sequence[tuple[str, float]], vector: Sequence[str], limit: int, unseen: Collection[str] = ()) -> list[Ranked]:
    """The best `limit` ids of both lists, best first. An id counts where it stands first in a list.

    `lexical`: each with the share of the query's words that it holds (0 to 1). A rank by words counts by the cube of it where there are
    vectors to set against it: who has few of the words may well stand first among those that have no more. `unseen`: those that could
    not be in the list of vectors, for they have none. They count as if they stood there where they stand in the lexical one: being new is
    no fault. Among equals the one that stands higher in the lexical list comes first.
    """
    by_words, by_meaning = _ranks(each for each, _ in lexical), _ranks(vector)
    shares = {each: share if vector else 1.0 for each, share in reversed(lexical)}

    def score(each: str) -> float:
        told = _worth(by_words.get(each)) * shares.get(each, 0.0) ** _STEEPNESS
        return told + (told if each in unseen and each not in by_meaning else _worth(by_meaning.get(each)))

    ranked = [
        Ranked(each, score(each), by_words.get(each), by_meaning.get(each)) for each in dict.fromkeys((*by_words, *by_meaning))
    ]
    return sorted(ranked, key=lambda hit: -hit.score)[: max(limit, 0)]


def _ranks(ids: Iterable[str]) -> dict[str, int]:
    ranks: dict[str, int] = {}
    for rank, each in enumerate(ids, 1):
        ranks.setdefault(each, rank)
    return ranks


def _worth(rank: int | None) -> float:
    return 0.0 if rank is None else _WEIGHT / (_FLATTENING + rank)
