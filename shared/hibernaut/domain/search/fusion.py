"""Two lists of hits made one: a convex combination of normalised scores. Knows ids and scores, no engine.

Scores by words are parts of the best that the query's terms could score (`domain.search.bm25.shares`): a text that shares one common word with a
question stays low, even where nothing shares more. Scores by meaning are spread between the worst and the best candidate, since
cosines of one model all lie in a narrow band, and count the less, the less the best one stands out. Decisions 17 and 70 have the figures
and the literature.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hibernaut.schemas.immutable import immutable

WORDS_WEIGHT = 0.48
"""The part of a score that is by words; the rest is by meaning."""
PROMINENCE_POWER = 0.4
"""How much it matters that the best candidate by meaning stands out: at 0 not at all, at 1 as much as it does."""
Scored = Sequence[tuple[str, float]]


@immutable
class Ranked:
    """A hit, its fused score (0 to 1), and its place in each list, counted from 1; None if a list did not contain it."""

    id: str
    score: float
    lexical_rank: int | None
    vector_rank: int | None


def spread(scored: Scored) -> list[tuple[str, float]]:
    """Scores as places between a step below the lowest, 0, and the highest, 1; all 1 where they are equal. A step is the mean distance
    of two neighbours: of two candidates the worse is a third, of two hundred the worst next to nothing."""
    if not scored:
        return []
    low, high = min(score for _, score in scored), max(score for _, score in scored)
    step = (high - low) / len(scored)
    return [(each, (score - low + step) / (high - low + step) if high > low else 1.0) for each, score in scored]


def prominent(scored: Scored) -> list[tuple[str, float]]:
    """Scores by meaning as they count beside those by words: 0 to 1, where 1 is a perfect match before and after.

    They are `spread`, times how far the best stands out: its distance from the worst candidate, as a part of the distance at which a
    perfect match would be. Turns of one long talk are all about as near to a question, and then the nearest one tells little.
    """
    low, high = min((score for _, score in scored), default=0.0), max((score for _, score in scored), default=0.0)
    factor = ((high - low) / (1.0 - low)) ** PROMINENCE_POWER if low < high < 1.0 else 1.0
    return [(each, score * factor) for each, score in spread(scored)]


def fused(lexical: Scored, vector: Scored, limit: int, unseen: Collection[str] = ()) -> list[Ranked]:
    """The best `limit` ids of both lists, best first. Scores are 0 to 1; an id counts by its first place in a list.

    Where one list is empty, the other's scores are used. `unseen`: ids without a vector, which therefore are not in the list by meaning.
    Being new is no fault: their words count for their meaning too, of which the best in the list is the most. Among equals the one with the
    higher place in the lexical list comes first.
    """
    by_words, by_meaning = _places(lexical), _places(vector)
    weight = 1.0 if not vector else WORDS_WEIGHT if lexical else 0.0
    in_place_of_both = weight + (1.0 - weight) * max((score for _, score in vector), default=0.0)

    def score(each: str) -> float:
        words, meaning = by_words.get(each), by_meaning.get(each)
        if words is not None and meaning is None and each in unseen:
            return in_place_of_both * words[1]
        return weight * (words[1] if words else 0.0) + (1.0 - weight) * (meaning[1] if meaning else 0.0)

    def rank(places: dict[str, tuple[int, float]], each: str) -> int | None:
        return places[each][0] if each in places else None

    ids = dict.fromkeys((*by_words, *by_meaning))
    ranked = [Ranked(each, score(each), rank(by_words, each), rank(by_meaning, each)) for each in ids]
    return sorted(ranked, key=lambda hit: -hit.score)[: max(limit, 0)]


def _places(scored: Scored) -> dict[str, tuple[int, float]]:
    """Rank and score of each id, best first."""
    found: dict[str, tuple[int, float]] = {}
    for each, score in sorted(scored, key=lambda hit: -hit[1]):
        found.setdefault(each, (len(found) + 1, score))
    return found
