"""Hybrid search of memory: lexical and vector hits of an index that may lag or be unavailable.

A search reads the documents that the index does not hold yet (the tail), queries the index for lexical and vector candidates,
fuses both lists of scores, and reads the best records from the table. The table is authoritative: a deleted record is never
shown, and a record that was just written is found.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Generic, TypeVar

from hibernaut.domain.search.bm25 import best
from hibernaut.domain.search.fusion import Ranked, fused
from hibernaut.domain.search.index_documents import linked, name_of, place_of
from hibernaut.ports.memory.embedder import EmbedderFailed, Vector
from hibernaut.ports.memory.memory_index import IndexAsleep, MemoryIndex
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.passage import Passage
from hibernaut.schemas.memory.search_index import IndexDocument, IndexQuery, Kind, Reach, SearchMode, TagMatch
from hibernaut.schemas.messages.message import Message
from hibernaut.services.search.candidates import Candidates, gathered
from hibernaut.services.search.search_sources import EmbeddingSpace, Record, SearchSources
from hibernaut.store.memory.search_outbox import Pointer
from hibernaut.store.stores import TenantStores

R = TypeVar("R")


@immutable
class SearchScope:
    """The scope of a search: archives, folders or agents (`places`; None: all of the tenant), narrowed by the other filters.

    `reach` selects the documents of a conversation (`domain.search.index_documents`). `start` and `end` are inclusive.
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


@immutable
class SearchHit(Generic[R]):
    """A record, its fused score, and its rank in each list (from 1; None: not in the list)."""

    record: R
    score: float
    lexical_rank: int | None = None
    vector_rank: int | None = None


@immutable
class SearchResult(Generic[R]):
    """The hits, best first. `incomplete`: hits may be missing, because too many records are pending or the index is being
    rebuilt. `asleep`: the index is unavailable, and the hits come from the newest part of the table. `words_only`: the query was
    not embedded.
    """

    hits: tuple[SearchHit[R], ...] = ()
    incomplete: bool = False
    asleep: bool = False
    words_only: bool = False


TAIL = 200
"""The largest number of pointers of one place that a search reads. With more, the result is marked incomplete."""
TAIL_RECORDS = 1_000
"""The largest number of records behind these pointers that a search reads, newest first. One pointer may name a hundred."""
CANDIDATES = 200
"""The smallest number of hits that the index returns for each list."""
WALKED = 5_000
"""The newest records of a place that a search without an index scores by words."""
LONGEST_QUERY = 8_000
"""Characters of a query; the rest is cut off."""
logger = logging.getLogger(__name__)


@immutable
class _Tail:
    """The documents that the index does not hold yet, by name. `cut`: there are more."""

    documents: dict[str, IndexDocument]
    cut: bool


class IndexOutage:
    """Whether the index was unavailable at the last query of any tenant. The start and the end of an outage are logged once
    each.
    """

    def __init__(self) -> None:
        self._slept = False

    def asleep(self) -> None:
        """Record that the index did not answer."""
        if not self._slept:
            logger.warning("memory index asleep: searching by words in the table")
        self._slept = True

    def awake(self) -> None:
        """Record that the index answered."""
        if self._slept:
            logger.info("memory index awake again")
        self._slept = False


class HybridSearch:
    """Searches one tenant's memory. `index` None: this deployment has no index; searches go by words, in the table.

    All tenants share `outage`.
    """

    def __init__(self, stores: TenantStores, index: MemoryIndex | None, sources: SearchSources, outage: IndexOutage) -> None:
        self._stores = stores
        self._index = index
        self._sources = sources
        self._outage = outage

    def messages(self, scope: SearchScope, query: str, *, mode: SearchMode = "hybrid", limit: int = 10) -> SearchResult[Message]:
        """Search messages. At most `limit` hits. Index and embedder errors appear as flags of the result and are not raised."""
        return self._searched(scope, query, mode, limit)  # type: ignore[return-value]  # `kind` determines the type of the records

    def passages(self, scope: SearchScope, query: str, *, mode: SearchMode = "hybrid", limit: int = 10) -> SearchResult[Passage]:
        """Search the passages of archives, or the pieces of files. At most `limit` hits; errors as for `messages`."""
        return self._searched(scope, query, mode, limit)  # type: ignore[return-value]

    def _searched(self, scope: SearchScope, query: str, mode: SearchMode, limit: int) -> SearchResult[Record]:
        query = query[:LONGEST_QUERY]
        if not query.strip() or scope.places == ():
            return SearchResult()
        if self._index is None:
            return self._walked(scope, query, limit, asleep=False)
        try:
            result = self._search_index(self._index, scope, query, mode, limit)
        except IndexAsleep:
            self._outage.asleep()
            return self._walked(scope, query, limit, asleep=True)
        self._outage.awake()
        return result

    def _search_index(
        self, index: MemoryIndex, scope: SearchScope, query: str, mode: SearchMode, limit: int
    ) -> SearchResult[Record]:
        before = self._stores.search_outbox.building()
        tail = self._tail(scope)
        found, words_only = Candidates(), mode != "fts"
        for space, places in self._sources.spaces_of(scope.kind, scope.places):
            vector = None if mode == "fts" else _embedded(space, query)
            words_only = words_only and vector is None
            text = None if mode == "vector" and vector is not None else query
            index_query = _index_query(self._stores.tenant, scope, places, text, vector, max(CANDIDATES, 2 * limit))
            pending = [each for each in tail.documents.values() if places is None or each.place in places]
            found = found.with_those(gathered(index, space, index_query, pending))
        ranked = fused(found.lexical, found.vector, 2 * limit + len(tail.documents), found.unseen, dict(found.before))
        hits = self._records(scope, ranked, limit)
        incomplete = tail.cut or found.missed or before.stage != "OVER" or self._stores.search_outbox.building() != before
        return SearchResult(hits, incomplete=incomplete, words_only=words_only)

    def _tail(self, scope: SearchScope) -> _Tail:
        """The documents behind pending pointers that pass the filters."""
        if scope.places is None:
            pointers = self._stores.search_outbox.new(scope.kind, TAIL + 1)
            cut = len(pointers) > TAIL
        else:
            lists = self._stores.search_outbox.of(scope.places, TAIL + 1)
            cut = any(len(each) > TAIL for each in lists)
            pointers = [pointer for each in lists for pointer in each[:TAIL]]
        found = dict[str, IndexDocument]()
        count = 0
        for pointer in _together(scope.kind, pointers):
            cut = cut or count + len(pointer.ids) > TAIL_RECORDS
            newest = pointer.ids[: TAIL_RECORDS - count]
            count += len(newest)
            documents = linked(self._sources.read(replace(pointer, ids=newest)).documents)
            found |= {each.id: each for each in documents if fits(each, scope)}
        return _Tail(found, cut)

    def _records(self, scope: SearchScope, ranked: Sequence[Ranked], limit: int) -> tuple[SearchHit[Record], ...]:
        """The current records of the best hits. Reads further candidates only if some of the best were deleted."""
        found: list[SearchHit[Record]] = []
        for start in range(0, len(ranked), limit):
            batch = ranked[start : start + limit]
            records = self._read(scope.kind, batch)
            found += [
                SearchHit(records[hit.id], hit.score, hit.lexical_rank, hit.vector_rank) for hit in batch if hit.id in records
            ]
            if len(found) >= limit:
                break
        return tuple(found[:limit])

    def _read(self, kind: Kind, ranked: Sequence[Ranked]) -> dict[str, Record]:
        by_place: dict[str, list[str]] = {}
        for hit in ranked:
            container, record_id = place_of(hit.id)
            by_place.setdefault(container, []).append(record_id)
        return {
            name_of(container, record_id): record
            for container, ids in by_place.items()
            for record_id, record in self._sources.records(kind, container, ids).items()
        }

    def _walked(self, scope: SearchScope, query: str, limit: int, *, asleep: bool) -> SearchResult[Record]:
        """Search by words in the newest records of the table."""
        records, cut = self._sources.newest(scope.kind, scope.places, WALKED)
        documents = [(record, document) for record, document in records if document is not None and fits(document, scope)]
        ranked = best(query, ((record, document.text) for record, document in documents), limit)
        hits = tuple(SearchHit(record, score, rank) for rank, (record, score) in enumerate(ranked, 1))
        return SearchResult(hits, incomplete=cut, asleep=asleep, words_only=True)


def _together(kind: Kind, pointers: Sequence[Pointer]) -> list[Pointer]:
    """The pointers of a kind, newest first; those of one log, archive or file are joined, so that one read serves them."""
    found: dict[tuple[str, str], list[Pointer]] = {}
    for pointer in pointers:
        if pointer.kind == kind:
            found.setdefault((pointer.place, pointer.within), []).append(pointer)
    return [replace(some[0], ids=tuple(one for pointer in some for one in reversed(pointer.ids))) for some in found.values()]


def fits(document: IndexDocument, scope: SearchScope) -> bool:
    """Whether a document passes the filters, by the same rules as in the index."""
    tags = set(document.tags)
    tagged = not scope.tags or (set(scope.tags) <= tags if scope.tag_match == "all" else bool(tags & set(scope.tags)))
    return (
        tagged
        and (scope.reach is None or scope.reach.holds(document))
        and (not scope.file_ids or document.file_id in scope.file_ids)
        and (not scope.roles or document.role in scope.roles)
        and (scope.start is None or document.created_at >= scope.start)
        and (scope.end is None or document.created_at <= scope.end)
    )


def _index_query(
    tenant: str, scope: SearchScope, places: Sequence[str] | None, text: str | None, vector: Vector | None, limit: int
) -> IndexQuery:
    return IndexQuery(
        tenant=tenant,
        kind=scope.kind,
        places=None if places is None else tuple(places),
        reach=scope.reach,
        file_ids=scope.file_ids,
        roles=scope.roles,
        tags=scope.tags,
        tag_match=scope.tag_match,
        start=scope.start,
        end=scope.end,
        text=text,
        vector=vector,
        limit=min(limit, 1000),
    )


def _embedded(space: EmbeddingSpace, query: str) -> Vector | None:
    """The vector of the query; None if the embedder is missing or fails, and the search goes by words."""
    if space.embedder is None:
        return None
    try:
        return space.embedder.embed([query], query=True)[0]
    except EmbedderFailed as error:
        logger.warning("query not embedded", extra={"space": space.name, "retryable": error.retryable})
        return None
