"""Two lists of hits made one: a convex combination of normalised scores. Knows ids and scores, no engine.

Scores by words are parts of the best that the query's terms could score (`domain.search.bm25.shares`): a text that shares one
common word with a question stays low, even where nothing shares more. Scores by meaning are spread between the worst and the best
candidate, since cosines of one model all lie in a narrow band, and count the less, the less the best one stands out. A question
often has words of the lines before its answer, which therefore lend it a part of their scores. Decisions 17, 70 and 71 have the
figures and the literature.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from hibernaut.schemas.immutable import immutable

WORDS_WEIGHT = 0.48
"""The part of a score that is by words; the rest is by meaning."""
PROMINENCE_POWER = 0.4
"""How much it matters that the best candidate by meaning stands out: at 0 not at all, at 1 as much as it does."""
OF_THE_TEXTS_BEFORE = (0.25, 0.2, 0.1)
"""What the words of the text before count for a text too, of the one before that, and so on: shares of their scores."""
Scored = Sequence[tuple[str, float]]
_NOTHING: Mapping[str, str] = MappingProxyType({})


@immutable
class Ranked:
    """A hit, its fused score (0 to 1), and its place in each list, counted from 1; None if a list did not contain it."""

    id: str
    score: float
    lexical_rank: int | None
    vector_rank: int | None


def spread(scored: Scored) -> list[tuple[str, float]]:
    """Scores as places between a step below the lowest, 0, and the highest, 1; all 1 where they are equal. A step is the mean
    distance of two neighbours: of two candidates the worse is a third, of two hundred the worst next to nothing."""
    if not scored:
        return []
    low, high = min(score for _, score in scored), max(score for _, score in scored)
    step = (high - low) / len(scored)
    return [(each, (score - low + step) / (high - low + step) if high > low else 1.0) for each, score in scored]


def prominent(scored: Scored) -> list[tuple[str, float]]:
    """Scores by meaning as they count beside those by words: 0 to 1, where 1 is a perfect match before and after.

    They are `spread`, times how far the best stands out: its distance from the worst candidate, as a part of the distance at
    which a perfect match would be. Turns of one long talk are all about as near to a question, and then the nearest one tells
    little.
    """
    low, high = min((score for _, score in scored), default=0.0), max((score for _, score in scored), default=0.0)
    factor = ((high - low) / (1.0 - low)) ** PROMINENCE_POWER if low < high < 1.0 else 1.0
    return [(each, score * factor) for each, score in spread(scored)]


def with_texts_before(scores: Mapping[str, float], before: Mapping[str, str]) -> dict[str, float]:
    """Scores by words, 0 to 1, each with parts of the scores of the three texts before it (`OF_THE_TEXTS_BEFORE`). They fill a
    part of what is missing to 1: whoever has the words itself gains little. A text that is not among these lends nothing, and
    those before it neither.
    """
    found: dict[str, float] = {}
    for each, own in scores.items():
        lent, at = 0.0, each
        for part in OF_THE_TEXTS_BEFORE:
            at = before.get(at, "")
            if at not in scores:
                break
            lent += part * scores[at]
        found[each] = own + (1.0 - own) * lent
    return found


def fused(
    lexical: Scored, vector: Scored, limit: int, unseen: Collection[str] = (), before: Mapping[str, str] = _NOTHING
) -> list[Ranked]:
    """The best `limit` ids of both lists, best first. Scores are 0 to 1; an id counts by its first place in a list.

    Where one list is empty, the other's scores are used. `unseen`: ids without a vector, which therefore are not in the list by
    meaning. Being new is no fault: their words count for their meaning too, of which the best in the list is the most. Among
    equals the one with the higher place in the lexical list comes first.

    `before`: the ids of the texts before some ids. Where there are scores by meaning, each id gets a part of the scores by words
    of the three texts before it, as far as they are in a list themselves: a text that is gone lends nothing.
    """
    by_words, by_meaning = _places(lexical), _places(vector)
    weight = 1.0 if not vector else WORDS_WEIGHT if lexical else 0.0
    in_place_of_both = weight + (1.0 - weight) * max((score for _, score in vector), default=0.0)
    ids = dict.fromkeys((*by_words, *by_meaning))
    own = {each: by_words[each][1] if each in by_words else 0.0 for each in ids}
    words = with_texts_before(own, before) if vector else own

    def score(each: str) -> float:
        meaning = by_meaning.get(each)
        if meaning is None and each in unseen:
            return in_place_of_both * words[each]
        return weight * words[each] + (1.0 - weight) * (meaning[1] if meaning else 0.0)

    def rank(places: dict[str, tuple[int, float]], each: str) -> int | None:
        return places[each][0] if each in places else None

    ranked = [Ranked(each, score(each), rank(by_words, each), rank(by_meaning, each)) for each in ids]
    return sorted(ranked, key=lambda hit: -hit.score)[: max(limit, 0)]


def _places(scored: Scored) -> dict[str, tuple[int, float]]:
    """Rank and score of each id, best first."""
    found: dict[str, tuple[int, float]] = {}
    for each, score in sorted(scored, key=lambda hit: -hit[1]):
        found.setdefault(each, (len(found) + 1, score))
    return found
