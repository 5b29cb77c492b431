"""The candidates of a search in one space: what the index found there, and what waits for the index, scored as if the index knew it.

By words, the waiting texts are scored by the index's own formula, and their terms count in its rarities. By meaning, they are compared
where they are few: a text that was said a moment ago is found by its meaning, and an import of hundreds costs a search nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import mul

from hibernaut.domain.search.bm25 import Scan, rarities, scan, shares
from hibernaut.domain.search.fusion import spread
from hibernaut.domain.search.words import terms
from hibernaut.ports.embedder import EmbedderFailed, Vector
from hibernaut.ports.memory_index import WORDS, MemoryIndex
from hibernaut.schemas.search import IndexDocument, IndexFound, IndexQuery
from hibernaut.services.search.search_sources import EmbeddingSpace

EMBEDDED_TAIL = 16
"""Waiting texts that a search embeds itself. Where more wait, words find them; where no words count, the newest of them are embedded,
and the search says that it may miss some."""
Scored = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Ids with scores of 0 to 1, by words and by meaning; `unseen` have no vector that could be compared; `missed`: some may be missing."""

    lexical: Scored = ()
    vector: Scored = ()
    unseen: frozenset[str] = frozenset()
    missed: bool = False

    def with_those(self, other: Candidates) -> Candidates:
        """These and those of another space."""
        return Candidates(
            self.lexical + other.lexical,
            self.vector + other.vector,
            self.unseen | other.unseen,
            self.missed or other.missed,
        )


def gathered(index: MemoryIndex, space: EmbeddingSpace, asked: IndexQuery, waiting: Sequence[IndexDocument]) -> Candidates:
    """The candidates of a space and of the texts that wait for it. Raises: IndexAsleep."""
    wanted = terms(asked.text or "")
    tail = scan(wanted, ((each.id, each.text) for each in waiting) if wanted else ())
    names = {each.id for each in waiting}
    asked = asked.model_copy(update={"beside": tail.counts})
    found = index.search(space.name, asked)
    vector, compared = _by_meaning(found, space, asked, waiting)
    lexical = dict(_by_words(found, tail, wanted, names)) if wanted else {}
    unseen = {hit.id for hit in found.lexical if asked.vector is None or not hit.embedded} | (names - compared)
    for name in _other_spaces(index, space, asked) if wanted else ():
        others = index.search(name, asked.model_copy(update={"vector": None}))
        fresh = {each: score for each, score in _by_words(others, None, wanted, names) if each not in lexical}
        lexical |= fresh
        unseen |= fresh.keys()
    missed = asked.text is None and len(compared) < len(names)
    return Candidates(tuple(lexical.items()), tuple(vector), frozenset(unseen), missed)


def _other_spaces(index: MemoryIndex, space: EmbeddingSpace, asked: IndexQuery) -> Iterable[str]:
    """Where else there are words: in what was written while nobody could embed. Everywhere where nobody can embed now, and for what
    was said: it stays in the space of the model that was the default when it was written."""
    names = [name for name in index.spaces() if name != space.name]
    return [name for name in names if name == WORDS] if space.embedder is not None and asked.kind != "message" else names


def _by_words(found: IndexFound, tail: Scan[str] | None, wanted: Sequence[str], names: Iterable[str]) -> list[tuple[str, float]]:
    """The index's hits and the waiting texts in one list. `names`: of those that wait, which the index may know in an older form."""
    waits = frozenset(names)
    counts = [found.counts] if tail is None else [found.counts, tail.counts]
    weights = rarities(wanted, *counts)
    hits = [(hit.id, hit.score) for hit in found.lexical if hit.id not in waits]
    hits += tail.scored(weights) if tail is not None else []
    return shares(hits, sum(weights.values()))


def _by_meaning(
    found: IndexFound, space: EmbeddingSpace, asked: IndexQuery, waiting: Sequence[IndexDocument]
) -> tuple[list[tuple[str, float]], set[str]]:
    """The index's hits and the waiting texts in one list, and which of these were compared."""
    if asked.vector is None or space.embedder is None:
        return [], set()
    newest = sorted(waiting, key=lambda document: document.created_at, reverse=True)
    if asked.text is not None and len(newest) > EMBEDDED_TAIL:
        newest = []
    near = _compared(space, asked.vector, newest[:EMBEDDED_TAIL])
    compared = {each for each, _ in near}
    near += [(hit.id, hit.score) for hit in found.vector if hit.id not in compared]
    return spread(near), compared


def _compared(space: EmbeddingSpace, query: Vector, documents: Sequence[IndexDocument]) -> list[tuple[str, float]]:
    """Documents with their scores as an index gives them; none where nobody can embed them now."""
    if space.embedder is None or not documents:
        return []
    try:
        vectors = space.embedder.embed([document.text for document in documents])
    except EmbedderFailed:
        return []
    return [(document.id, (1 + sum(map(mul, query, vector))) / 2) for document, vector in zip(documents, vectors, strict=True)]
