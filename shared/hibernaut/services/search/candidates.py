"""The candidates of a search in one embedding space: the hits of the index, and the pending documents that it does not hold yet.

Lexical search scores pending documents by the formula of the index (BM25), and their terms count in the document frequencies.
Vector search embeds pending documents within a bound: a message of a moment ago is found by its meaning, and an import of
hundreds of documents does not slow a search down any further. All cached vectors are compared: those of earlier searches, and
those that the indexer has not written yet.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate, zip_longest
from operator import mul

from hibernaut.domain.search.bm25 import rarities, scan, shares
from hibernaut.domain.search.fusion import prominent
from hibernaut.domain.search.index_documents import cosine_in_context
from hibernaut.domain.search.words import terms
from hibernaut.ports.memory.embedder import Embedder, EmbedderFailed, Vector
from hibernaut.ports.memory.memory_index import WORDS, MemoryIndex
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.search_index import IndexDocument, IndexFound, IndexHit, IndexQuery
from hibernaut.services.search.search_sources import EmbeddingSpace

EMBEDDED_TAIL = 16
"""The number of pending documents that a search embeds in one space, however long they are."""
EMBEDDED_CHARACTERS = 8_000
"""More are embedded until their total length in characters reaches this limit, if one call of the model takes them. MiniLM needs
0.35 seconds for 68 short texts of so many and 0.65 for 16 long ones, once: the vectors are cached, and the next search embeds as
many of the others. A hybrid search finds the other documents by words only; a vector search reports that it may miss them."""
ESTIMATED_CHARACTERS = 100_000
"""Of so many characters of pending documents the embedder estimates which are near the query, where not all can be embedded."""
OF_EACH = 60
"""Characters that a document counts besides its own."""
Scored = tuple[tuple[str, float], ...]


@immutable
class Candidates:
    """Lexical and vector hits: ids with scores from 0 to 1. `unseen`: ids without a comparable vector. `before`: ids with the
    id of the document that precedes each, where it is known. `missed`: hits may be missing.
    """

    lexical: Scored = ()
    vector: Scored = ()
    unseen: frozenset[str] = frozenset()
    before: tuple[tuple[str, str], ...] = ()
    missed: bool = False

    def with_those(self, other: Candidates) -> Candidates:
        """The union with the candidates of another space."""
        return Candidates(
            self.lexical + other.lexical,
            self.vector + other.vector,
            self.unseen | other.unseen,
            self.before + other.before,
            self.missed or other.missed,
        )


def gathered(index: MemoryIndex, space: EmbeddingSpace, query: IndexQuery, waiting: Sequence[IndexDocument]) -> Candidates:
    """The candidates from the index of a space and from the documents that are pending for it. Raises: IndexAsleep."""
    query_terms = terms(query.text or "")
    tail = scan(query_terms, ((each.id, each.text) for each in waiting) if query_terms else ())
    names = {each.id for each in waiting}
    query = query.model_copy(update={"unindexed": tail.counts})
    result = index.search(space.name, query)
    weights = rarities(query_terms, result.counts, tail.counts)
    promising = tail.scored(weights)
    vector, compared_ids = _by_meaning(result, space, query, waiting, [each for each, _ in promising])
    lexical = dict(_by_words(result, promising, weights, names)) if query_terms else {}
    before = _before((*result.lexical, *result.vector), waiting)
    unseen = {hit.id for hit in result.lexical if query.vector is None or not hit.embedded} | (names - compared_ids)
    for name in _other_spaces(index, space, query) if query_terms else ():
        other_result = index.search(name, query.model_copy(update={"vector": None}))
        weights = rarities(query_terms, other_result.counts)
        fresh = {each: score for each, score in _by_words(other_result, (), weights, names) if each not in lexical}
        lexical |= fresh
        unseen |= fresh.keys()
        before = _before(other_result.lexical, ()) | before
    missed = query.text is None and len(compared_ids) < len(names)
    return Candidates(tuple(lexical.items()), tuple(vector), frozenset(unseen), tuple(before.items()), missed)


def _before(hits: Iterable[IndexHit], waiting: Sequence[IndexDocument]) -> dict[str, str]:
    """What precedes each hit; of a document that the index has in an older version too, as the pending one says."""
    indexed = {hit.id: hit.before for hit in hits if hit.before}
    return indexed | {document.id: document.before for document in waiting if document.before}


def _other_spaces(index: MemoryIndex, space: EmbeddingSpace, query: IndexQuery) -> Iterable[str]:
    """The other spaces that a lexical search includes: WORDS, which holds what was indexed without an embedder.

    All spaces if the place has no embedder now, and for messages: a message stays in the space of the embedding model that was
    the default when it was indexed.
    """
    names = [name for name in index.spaces() if name != space.name]
    return [name for name in names if name == WORDS] if space.embedder is not None and query.kind != "message" else names


def _by_words(
    result: IndexFound, pending: Sequence[tuple[str, float]], weights: Mapping[str, float], names: Collection[str]
) -> list[tuple[str, float]]:
    """The lexical hits of the index and of the pending documents in one list. `weights`: the rarities of the query's terms;
    `names`: ids of all pending documents; the index may hold older versions of them, which are left out.
    """
    hits = [(hit.id, hit.score) for hit in result.lexical if hit.id not in names]
    return shares([*hits, *pending], sum(weights.values()))


def _worth_embedding(
    embedder: Embedder, query: str, pending: Sequence[IndexDocument], promising: Sequence[str]
) -> list[IndexDocument]:
    """Which of the pending documents without a cached vector a search embeds. `promising`: ids of those that have words of the
    query, best first: only a vector tells which of them is about it. With them take turns those that the embedder estimates to
    be near the query, which may share no word with it. Then come the newest.
    """
    places = {each: place for place, each in enumerate(promising)}
    newest = sorted(pending, key=lambda document: document.created_at, reverse=True)
    ordered = sorted(newest, key=lambda document: places.get(document.id, len(places)))
    most = max(EMBEDDED_TAIL, min(_fitting(ordered, EMBEDDED_CHARACTERS), embedder.batch))
    if most >= len(ordered) or not query:
        return ordered[:most]
    near = _nearest(embedder, query, ordered[: _fitting(ordered, ESTIMATED_CHARACTERS)])
    with_words = [document for document in ordered if document.id in places]
    turns = [document for turn in zip_longest(with_words, near) for document in turn if document is not None]
    return list({document.id: document for document in (*turns, *ordered)}.values())[:most]


def _fitting(documents: Sequence[IndexDocument], characters: int) -> int:
    """How many of the documents, from the first, have at most so many characters together."""
    return bisect_right(list(accumulate(len(document.text) + OF_EACH for document in documents)), characters)


def _nearest(embedder: Embedder, query: str, documents: Sequence[IndexDocument]) -> list[IndexDocument]:
    """The documents, those first that the embedder estimates to be near the query; none if it has no estimate."""
    likeness = None
    with suppress(EmbedderFailed):
        likeness = embedder.likeness(query, [document.text for document in documents]) if documents else None
    if likeness is None:
        return []
    order = sorted(range(len(documents)), key=lambda number: -likeness[number])
    return [documents[number] for number in order]


def _by_meaning(
    result: IndexFound, space: EmbeddingSpace, query: IndexQuery, pending: Sequence[IndexDocument], promising: Sequence[str]
) -> tuple[list[tuple[str, float]], set[str]]:
    """The vector hits of the index and of the pending documents in one list, as long as the index would make it with all of them,
    and the ids of the pending documents that were compared.
    """
    if query.vector is None or space.embedder is None:
        return [], set()
    near = _compared(space.embedder, query.text or "", query.vector, pending, promising)
    compared_ids = {each for each, _ in near}
    near += [(hit.id, hit.score) for hit in result.vector if hit.id not in compared_ids]
    return prominent(sorted(near, key=lambda hit: -hit[1])[: query.limit]), compared_ids


def _compared(
    embedder: Embedder, text: str, query: Vector, pending: Sequence[IndexDocument], promising: Sequence[str]
) -> list[tuple[str, float]]:
    """Document ids with the similarity that an index would report. If the embedder fails, of those with a cached vector alone.

    The text before counts as it does in the index, where its vector is at hand.
    """
    in_context = dict[str, float]()
    cached = embedder.known([document.text for document in pending])
    vectors = {document.id: vector for document, vector in zip(pending, cached, strict=True) if vector is not None}
    others = _worth_embedding(embedder, text, [document for document in pending if document.id not in vectors], promising)
    if others:
        with suppress(EmbedderFailed):
            made = embedder.embed([document.text for document in others])
            vectors |= {document.id: vector for document, vector in zip(others, made, strict=True)}
    cosines = {name: _dot(query, vector) for name, vector in vectors.items()}
    for document in pending:
        name, before = document.id, document.before
        if name in vectors and before in vectors:
            in_context[name] = cosine_in_context(cosines[name], cosines[before], _dot(vectors[name], vectors[before]))
    return [(name, (1 + cosine) / 2) for name, cosine in (cosines | in_context).items()]


def _dot(one: Vector, other: Vector) -> float:
    """The cosine of two vectors of unit norm."""
    return float(sum(map(mul, one, other)))
