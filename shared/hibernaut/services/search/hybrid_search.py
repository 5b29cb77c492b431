"""Finding memory again: by words and by meaning, in an index that may lag or sleep, without missing what was just written (architecture 7).

A search asks the index for two ranked lists, looks at what the index does not know yet, fuses, and reads what it found from the table:
the table is the truth, so nothing that was deleted is ever shown.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice, zip_longest
from operator import mul
from typing import Generic, TypeVar

from hibernaut.domain.search.index_documents import name_of, place_of
from hibernaut.domain.search.lexical import best
from hibernaut.domain.search.ranks import Ranked, fused
from hibernaut.ports.embedder import EmbedderFailed, Vector
from hibernaut.ports.memory_index import WORDS, IndexAsleep, MemoryIndex
from hibernaut.schemas.message import Message
from hibernaut.schemas.passage import Passage
from hibernaut.schemas.search import IndexDocument, IndexFound, IndexHit, IndexQuery, Kind, Reach, SearchMode, TagMatch
from hibernaut.services.search.search_sources import MemorySources, Record, Space
from hibernaut.store.search_outbox import Pointer
from hibernaut.store.stores import Stores

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Where:
    """What is searched: these archives, folders or agents (None: all of the tenant), narrowed by what else is given.

    `reach` says what a conversation holds, as documents (`domain.search.index_documents`). `start` and `end` are inclusive.
    """

    kind: Kind
    places: tuple[str, ...] | None
    reach: Reach | None = None
    file_ids: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    tag_match: TagMatch = "any"
    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True, slots=True)
class Found(Generic[R]):
    """A record, its fused score, and where it stood in each list (from 1; None: not in it)."""

    record: R
    score: float
    lexical_rank: int | None = None
    vector_rank: int | None = None


@dataclass(frozen=True, slots=True)
class Searched(Generic[R]):
    """The best, first. `incomplete`: more was written lately than a search looks at. `asleep`: the index did not answer, so these are
    from the newest part of the table. `words_only`: nobody could embed the query."""

    hits: tuple[Found[R], ...] = ()
    incomplete: bool = False
    asleep: bool = False
    words_only: bool = False


TAIL = 200
"""Pointers of one place that a search looks at; what more was written lately it may miss, and says so."""
TAIL_RECORDS = 1_000
"""Things that it looks at of what they name, the newest first: one pointer may name a hundred."""
EMBEDDED_TAIL = 16
"""Records of the tail that a search embeds itself; the others it finds by their words, or where no words count it says that it may miss
some."""
CANDIDATES = 50
"""Hits of each list that are fused, at least."""
WALKED = 5_000
"""The newest records of a place that are looked at by words where the index sleeps."""
LONGEST_QUERY = 8_000
"""Characters of a query that are read."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Tail:
    """What the index does not know yet, by name; `cut`: there is more."""

    documents: dict[str, IndexDocument]
    cut: bool


class MemorySearch:
    """`index` None: there is none here, and memory is found by words, in the table."""

    def __init__(self, stores: Stores, index: MemoryIndex | None, sources: MemorySources) -> None:
        self._stores = stores
        self._index = index
        self._sources = sources
        self._slept = False

    def messages(
        self, tenant: str, where: Where, query: str, *, mode: SearchMode = "hybrid", limit: int = 10
    ) -> Searched[Message]:
        """Rows of logs. Raises: nothing of the index's or the embedder's."""
        return self._searched(tenant, where, query, mode, limit)  # type: ignore[return-value]  # `kind` says which records

    def passages(
        self, tenant: str, where: Where, query: str, *, mode: SearchMode = "hybrid", limit: int = 10
    ) -> Searched[Passage]:
        """Passages of archives, or pieces of files. Raises: nothing of the index's or the embedder's."""
        return self._searched(tenant, where, query, mode, limit)  # type: ignore[return-value]

    def _searched(self, tenant: str, where: Where, query: str, mode: SearchMode, limit: int) -> Searched[Record]:
        query = query[:LONGEST_QUERY]
        if not query.strip() or where.places == ():
            return Searched()
        if self._index is None:
            return self._walked(tenant, where, query, limit, asleep=False)
        try:
            searched = self._asked(self._index, tenant, where, query, mode, limit)
        except IndexAsleep:
            if not self._slept:
                logger.warning("memory index asleep: searching by words in the table")
            self._slept = True
            return self._walked(tenant, where, query, limit, asleep=True)
        if self._slept:
            logger.info("memory index awake again")
        self._slept = False
        return searched

    def _asked(self, index: MemoryIndex, tenant: str, where: Where, query: str, mode: SearchMode, limit: int) -> Searched[Record]:
        before = self._stores.unindexed.building(tenant)
        tail = self._tail(tenant, where)
        lexical, vector, unseen = list[tuple[str, float]](), list[str](), set[str]()
        words_only, missed = mode != "fts", False
        for space, places in self._sources.spaces_of(tenant, where.kind, where.places):
            meant = None if mode == "fts" else _embedded(space, query)
            words_only = words_only and meant is None
            asked = _asked(
                tenant, where, places, None if mode == "vector" and meant else query, meant, max(CANDIDATES, 2 * limit)
            )
            found = _in_all(index, space, asked)
            mine = {name: each for name, each in tail.documents.items() if places is None or each.place in places}
            by_words = _with_tail(found.lexical, mine, query) if asked.text else []
            by_meaning, compared = _nearest(found.vector, mine, meant, space)
            missed = missed or (asked.text is None and len(compared) < len(mine))
            unseen |= {hit.id for hit in found.lexical if meant is None or not hit.embedded} | (mine.keys() - compared)
            lexical, vector = _merged(lexical, by_words), _merged(vector, by_meaning)
        ranked = fused(lexical, vector, 2 * limit + len(tail.documents), unseen if vector else ())
        hits = self._records(tenant, where, ranked, limit)
        incomplete = tail.cut or missed or before.stage != "OVER" or self._stores.unindexed.building(tenant) != before
        return Searched(hits, incomplete=incomplete, words_only=words_only)

    def _tail(self, tenant: str, where: Where) -> _Tail:
        """What pointers name and the filters let pass."""
        if where.places is None:
            pointers = self._stores.unindexed.new(tenant, where.kind, TAIL + 1)
            cut = len(pointers) > TAIL
        else:
            lists = [self._stores.unindexed.of(tenant, place, TAIL + 1) for place in where.places]
            cut = any(len(each) > TAIL for each in lists)
            pointers = [pointer for each in lists for pointer in each[:TAIL]]
        found = dict[str, IndexDocument]()
        counted = 0
        for pointer in _together(where.kind, pointers):
            cut = cut or counted + len(pointer.ids) > TAIL_RECORDS
            newest = pointer.ids[: TAIL_RECORDS - counted]
            counted += len(newest)
            documents = self._sources.read(replace(pointer, ids=newest)).documents
            found |= {each.id: each for each in documents if fits(each, where)}
        return _Tail(found, cut)

    def _records(self, tenant: str, where: Where, ranked: Sequence[Ranked], limit: int) -> tuple[Found[Record], ...]:
        """The records of the best, as the table has them now."""
        by_place: dict[str, list[str]] = {}
        for hit in ranked:
            within, record_id = place_of(hit.id)
            by_place.setdefault(within, []).append(record_id)
        records = {
            name_of(within, record_id): record
            for within, ids in by_place.items()
            for record_id, record in self._sources.records(tenant, where.kind, within, ids).items()
        }
        found = (Found(records[hit.id], hit.score, hit.lexical_rank, hit.vector_rank) for hit in ranked if hit.id in records)
        return tuple(islice(found, limit))

    def _walked(self, tenant: str, where: Where, query: str, limit: int, *, asleep: bool) -> Searched[Record]:
        """By words, in the newest part of the table."""
        records, cut = self._sources.newest(tenant, where.kind, where.places, WALKED)
        documents = [(record, document) for record, document in records if document is not None and fits(document, where)]
        found = best(query, ((record, document.text) for record, document in documents), limit)
        hits = tuple(Found(record, score, rank) for rank, (record, score) in enumerate(found, 1))
        return Searched(hits, incomplete=cut, asleep=asleep, words_only=True)


def _together(kind: Kind, pointers: Sequence[Pointer]) -> list[Pointer]:
    """The pointers of a kind, newest first, with all that lies in one log, archive or file as one: to be read at once."""
    found: dict[tuple[str, str], list[Pointer]] = {}
    for pointer in pointers:
        if pointer.kind == kind:
            found.setdefault((pointer.place, pointer.within), []).append(pointer)
    return [replace(some[0], ids=tuple(one for pointer in some for one in reversed(pointer.ids))) for some in found.values()]


def fits(document: IndexDocument, where: Where) -> bool:
    """Whether the filters let a document pass, as an engine would."""
    tags = set(document.tags)
    tagged = not where.tags or (set(where.tags) <= tags if where.tag_match == "all" else bool(tags & set(where.tags)))
    return (
        tagged
        and (where.reach is None or where.reach.holds(document))
        and (not where.file_ids or document.file_id in where.file_ids)
        and (not where.roles or document.role in where.roles)
        and (where.start is None or document.created_at >= where.start)
        and (where.end is None or document.created_at <= where.end)
    )


def _asked(
    tenant: str, where: Where, places: Sequence[str] | None, text: str | None, vector: Vector | None, limit: int
) -> IndexQuery:
    return IndexQuery(
        tenant=tenant,
        kind=where.kind,
        places=None if places is None else tuple(places),
        reach=where.reach,
        file_ids=where.file_ids,
        roles=where.roles,
        tags=where.tags,
        tag_match=where.tag_match,
        start=where.start,
        end=where.end,
        text=text,
        vector=vector,
        limit=min(limit, 1000),
    )


def _in_all(index: MemoryIndex, space: Space, asked: IndexQuery) -> IndexFound:
    """What a space has, and by words what was written while nobody could embed. Every space by words where nobody can now, and for what
    was said: it stays in the space of the model that was the default when it was written."""
    spaces = index.spaces()
    one_space = space.embedder is not None and asked.kind != "message"
    names = [WORDS] if one_space else [name for name in spaces if name != space.name]
    found = index.search(space.name, asked)
    for name in names:
        if name in spaces and asked.text:
            more = index.search(name, asked.model_copy(update={"vector": None})).lexical
            known = {hit.id for hit in found.lexical}
            fresh = [hit.model_copy(update={"embedded": False}) for hit in more if hit.id not in known]
            found = found.model_copy(update={"lexical": (*found.lexical, *fresh)})
    return found


def _embedded(space: Space, query: str) -> Vector | None:
    """The query's vector; None where nobody can make it now: then words must do."""
    if space.embedder is None:
        return None
    try:
        return space.embedder.embed([query], query=True)[0]
    except EmbedderFailed as error:
        logger.warning("query not embedded", extra={"space": space.name, "retryable": error.retryable})
        return None


def _with_tail(hits: Sequence[IndexHit], tail: Mapping[str, IndexDocument], query: str) -> list[tuple[str, float]]:
    """The index's list by words, and what it does not know yet: a text that holds every word stands first, one that holds half of them
    in the middle. Each with the share of the words that it holds."""
    known = [(hit.id, hit.share) for hit in hits if hit.id not in tail]
    scored = best(query, ((name, document.text) for name, document in tail.items()), len(tail))
    places = [((1.0 - share) * len(known), 0, (name, share)) for name, share in scored]
    places += [(float(place), 1, hit) for place, hit in enumerate(known)]
    return [hit for _, _, hit in sorted(places, key=lambda each: each[:2])]


def _nearest(
    hits: Sequence[IndexHit], tail: Mapping[str, IndexDocument], query: Vector | None, space: Space
) -> tuple[list[str], set[str]]:
    """The index's list by meaning, and the newest of what it does not know yet, in the order of their cosines; and which of these."""
    if query is None or space.embedder is None:
        return [], set()
    newest = sorted(tail.values(), key=lambda document: document.created_at, reverse=True)[:EMBEDDED_TAIL]
    try:
        vectors = space.embedder.embed([document.text for document in newest]) if newest else []
    except EmbedderFailed:
        vectors, newest = [], []
    near = [((1 + sum(map(mul, query, vector))) / 2, document.id) for vector, document in zip(vectors, newest, strict=True)]
    compared = {document.id for document in newest}
    near += [(hit.score, hit.id) for hit in hits if hit.id not in compared]
    return [name for _, name in sorted(near, key=lambda each: -each[0])], compared


def _merged(one: Sequence[R], other: Sequence[R]) -> list[R]:
    """Two lists of different spaces, whose scores cannot be compared: by their ranks in turn."""
    return [hit for pair in zip_longest(one, other) for hit in pair if hit is not None]
