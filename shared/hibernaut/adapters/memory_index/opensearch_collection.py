"""Writes and searches in a vector collection of OpenSearch Serverless.

A collection supports less than a domain. Each rule has its source; "guide" is the Amazon OpenSearch Service Developer Guide.
Where sources differ, the requests here satisfy both.

* It assigns its own ids to documents and accepts neither ids nor upserts (guide, "Choosing a collection type"; opensearch-py#792;
  for NEXTGEN the guide of the Migration Assistant, "Collection types"; "Working with vector search collections" says that NEXTGEN
  takes ids). So our id and version are fields. A second write of a document is a second *copy*; hits are reduced to the newest
  copy of each document.
* It deletes by its own ids (guide, "Supported operations": `DELETE <index>/_doc/<id>`, `POST <index>/_bulk`).
* It has no `_refresh` (flink-agents#678), and searches find new documents after ten seconds (NEXTGEN) or a minute (guide,
  "Working with vector search collections").
* It runs no scripts (the same page, of CLASSIC). So the engine chooses candidates by the rarities of their terms, and this module
  computes BM25 from the terms' frequencies, which each document contains.
* It chooses its k-NN engine, Faiss with HNSW, by itself, and compresses vectors 32 times by default (the same page).
* `_msearch` is listed for `GET <index>` alone, and unlisted parameters of a request are refused
  (opensearch-project/opensearch-spark#634). So each search is a request of its own, without parameters.
* Sizes of shards and replicas are its own (opensearch-project/opensearch-go#374).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

from hibernaut.adapters.memory_index import opensearch_requests as requests
from hibernaut.adapters.memory_index.opensearch_client import failed_item, translated, whole
from hibernaut.domain.search.bm25 import saturation
from hibernaut.domain.search.words import analysed
from hibernaut.ports.memory.memory_index import IndexAsleep
from hibernaut.schemas.memory.search_index import IndexDocument, IndexedState, IndexHit, IndexQuery, Tombstone

VISIBLE_AFTER = 120.0
"""Seconds: twice the longest refresh interval of a vector collection, a minute. The documented interval of NEXTGEN is ten
seconds.
"""
WAKE_SECONDS = 40.0
"""The time-out of the request that wakes a collection, which takes 10 to 30 seconds (guide, "Scale to zero")."""
OVERFETCH = 3
"""Candidates by words for each hit: the engine orders them by the terms that they hold, not yet by BM25."""
COPIES = 2
"""The number of requested nearest copies per hit: a document may have an older copy, or a duplicate."""
_IDS_AT_ONCE = 500
_MOST_HITS = 10_000
_MISSING = "index_not_found_exception"
_UNKNOWN_FIELD = "strict_dynamic_mapping_exception"
_FIELDS = ["id", "embedded", "version", "length", "created_at", "before"]
_NOTHING: Mapping[str, Any] = {"timed_out": False, "_shards": {"failed": 0}, "hits": {"total": {"value": 0}, "hits": []}}
Answer = TypeVar("Answer")


class _Copy(NamedTuple):
    """One copy of a document. `assigned`: the id that the collection gave it."""

    id: str
    version: int
    embedded: bool
    assigned: str


class CollectionDialect:
    """The dialect of a serverless vector collection (`opensearch.OpenSearchDialect`)."""

    def __init__(self, client: Any, *, visible_after: float = VISIBLE_AFTER) -> None:
        self._client = client
        self.visible_after = visible_after

    def index_body(self, prefix: str, space: str, alias: str) -> dict[str, Any]:  # noqa: ARG002  writers name the index itself
        return {
            "settings": {"index": {"knn": True}},
            "mappings": {
                "_meta": requests.meta(prefix, space),
                "dynamic": "strict",
                "_source": {"excludes": ["vector", "words"]},  # nothing reads them back: the table knows
                "properties": {
                    **requests.FIELDS,
                    "version": {"type": "integer"},
                    "length": {"type": "integer"},
                    "copy": {"type": "keyword"},
                    "words": {"type": "text", "analyzer": "whitespace", "index_options": "docs"},
                    "frequencies": {"type": "object", "enabled": False},  # read from the source, never searched
                },
            },
        }

    def vector_mapping(self, dimension: int) -> dict[str, Any]:
        """The collection chooses the engine. By default it would store a thirty-second of each vector; the scores need whole
        vectors.
        """
        return requests.vector_mapping(dimension, compression_level="1x")

    def mappings(self, index: str) -> Mapping[str, Any]:
        return _unless_missing(lambda: self._client.indices.get_mapping(index=index), {})

    def delete_index(self, index: str) -> None:
        _unless_missing(lambda: self._client.indices.delete(index=index), None)

    def write(self, index: str, alias: str, documents: Sequence[IndexDocument]) -> tuple[str, ...] | None:  # noqa: ARG002
        """All or none: what was written before a failure is deleted again, as far as the collection answers."""
        assigned: list[str] = []
        try:
            for body in requests.batches(map(_written, documents)):
                items = self._bulk(index, body)
                assigned += [item["_id"] for item in items if "error" not in item]
                failed = [item for item in items if "error" in item]
                if any(item["error"]["type"] in (_UNKNOWN_FIELD, _MISSING) for item in failed):
                    self._forgive(index, assigned)
                    return None
                if failed:
                    raise failed_item(failed[0])
            return tuple(assigned) if self._is_ours(index) else None
        except (IndexAsleep, ValueError):
            self._forgive(index, assigned)
            raise

    def erase(self, index: str, alias: str, tombstones: Sequence[Tombstone]) -> bool:  # noqa: ARG002
        """Deletes the visible copies. A copy that is not visible yet is not found; `discard` takes it by its name."""
        for at in range(0, len(tombstones), _IDS_AT_ONCE):
            some = tombstones[at : at + _IDS_AT_ONCE]
            versions = {(each.tenant, each.id): each.version for each in some}
            for tenant in dict.fromkeys(each.tenant for each in some):
                ids = [each.id for each in some if each.tenant == tenant]
                found = self._page(index, [{"term": {"tenant": tenant}}, {"terms": {"id": ids}}], _MOST_HITS)[0]
                self.discard(index, [each.assigned for each in found if each.version <= versions[tenant, each.id]])
        return True

    def discard(self, index: str, copies: Sequence[str]) -> None:
        for body in requests.batches(json.dumps({"delete": {"_id": each}}) + "\n" for each in copies):
            for item in self._bulk(index, body):
                if "error" in item and item["error"]["type"] != _MISSING:
                    raise failed_item(item)

    def collect(self, index: str, tenant: str) -> int:
        doubles, last = [], ""
        for copy in self._copies(index, tenant, _MOST_HITS):
            if copy.id == last:
                doubles.append(copy.assigned)
            last = copy.id
        self.discard(index, doubles)
        return len(doubles)

    def wake(self, pattern: str) -> None:
        with translated():
            self._client.search(body={"size": 0}, index=pattern, request_timeout=WAKE_SECONDS)

    def searched(self, index: str, searches: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return [self._searched(index, search) for search in searches]

    def lexical_search(self, query: IndexQuery, weights: Mapping[str, float]) -> dict[str, Any]:
        """Ordered by the rarities of the document's terms, then by length, shorter first. This is close to the order of BM25, and
        independent of other tenants.
        """
        each = [{"constant_score": {"filter": {"term": {"words": term}}, "boost": weight}} for term, weight in weights.items()]
        order: list[Any] = ["_score", {"length": "asc"}, {"created_at": "desc"}, {"id": "asc"}, {"version": "desc"}]
        return {
            "query": {"bool": {"should": each, "minimum_should_match": 1, "filter": requests.filters(query)}},
            "size": min(OVERFETCH * query.limit, _MOST_HITS),
            "sort": order,
            "_source": {"includes": [f"frequencies.{term}" for term in weights]},
            "track_total_hits": False,
            "docvalue_fields": _FIELDS,
        }

    def lexical_hits(self, response: Mapping[str, Any], query: IndexQuery, weights: Mapping[str, float]) -> tuple[IndexHit, ...]:
        """Scored by BM25, best first, among equals the newer first."""
        scored = []
        for hit in _newest(response):
            frequencies, length = hit["_source"].get("frequencies", {}), hit["fields"]["length"][0]
            score = sum(weight * saturation(frequencies[term], length) for term, weight in weights.items() if term in frequencies)
            scored.append(
                (
                    -score,
                    -hit["fields"]["created_at"][0],
                    hit["fields"]["id"][0],
                    hit["fields"]["embedded"][0],
                    requests.before_of(hit),
                )
            )
        best = sorted(scored)[: query.limit]
        return tuple(
            IndexHit(id=name, score=-score, embedded=embedded, before=before) for score, _, name, embedded, before in best
        )

    def vector_search(self, query: IndexQuery, vector: Sequence[float]) -> dict[str, Any]:
        size = COPIES * query.limit
        return {**requests.ranked(requests.nearest(query, vector, size), size), "docvalue_fields": _FIELDS}

    def vector_hits(self, response: Mapping[str, Any], query: IndexQuery) -> tuple[IndexHit, ...]:
        return requests.hits_of({"hits": {"hits": _newest(response)[: query.limit]}})

    def states(self, index: str, tenant: str, size: int) -> Iterator[IndexedState]:
        last = ""
        for copy in self._copies(index, tenant, size):
            if copy.id != last:
                yield IndexedState(id=copy.id, version=copy.version, embedded=copy.embedded)
            last = copy.id

    def _copies(self, index: str, tenant: str, size: int) -> Iterator[_Copy]:
        """All visible copies of a tenant's documents, by their ids, the newest of each first."""
        after: list[Any] | None = None
        while True:
            found, after = self._page(index, [{"term": {"tenant": tenant}}], size, after)
            yield from found
            if len(found) < size:
                return

    def _page(
        self, index: str, filters: Sequence[Mapping[str, Any]], size: int, after: list[Any] | None = None
    ) -> tuple[list[_Copy], list[Any] | None]:
        search: dict[str, Any] = {
            "query": {"bool": {"filter": list(filters)}},
            "sort": [{"id": "asc"}, {"version": "desc"}, {"copy": "asc"}],
            "size": size,
            "_source": False,
            "docvalue_fields": _FIELDS,
            "track_total_hits": False,
        }
        hits = self._searched(index, search if after is None else {**search, "search_after": after})["hits"]["hits"]
        copies = [_copy_of(hit) for hit in hits]
        return copies, hits[-1]["sort"] if hits else None

    def _searched(self, index: str, search: Mapping[str, Any]) -> Mapping[str, Any]:
        return whole(_unless_missing(lambda: self._client.search(body=search, index=index), _NOTHING))

    def _bulk(self, index: str, body: str) -> list[Mapping[str, Any]]:
        """The outcome of each line."""
        with translated():
            answer = self._client.bulk(body=body, index=index)
        return [next(iter(item.values())) for item in answer["items"]]

    def _is_ours(self, index: str) -> bool:
        """False if the index was dropped during a write: the write created an index with the collection's default mapping, which
        is deleted.
        """
        mapping = self.mappings(index).get(index)
        if mapping is None or mapping["mappings"].get("_meta", {}).get("format") == requests.FORMAT:
            return mapping is not None
        self.delete_index(index)
        return False

    def _forgive(self, index: str, assigned: Sequence[str]) -> None:
        with suppress(IndexAsleep, ValueError):  # what stays is a double, which readers drop and `collect` deletes
            self.discard(index, assigned)


def _written(document: IndexDocument) -> str:
    """A document's two lines of a bulk request."""
    found = analysed(document.text)
    fields = {
        **requests.source(document),
        "version": document.version,
        "length": len(found),
        "copy": uuid4().hex,
        "frequencies": Counter(found),
    }
    return f'{{"index": {{}}}}\n{json.dumps(fields)}\n'


def _copy_of(hit: Mapping[str, Any]) -> _Copy:
    name, version, embedded = (hit["fields"][field][0] for field in ("id", "version", "embedded"))
    return _Copy(name, version, embedded, hit["_id"])


def _newest(response: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The newest copy of each document among the hits, at the place of its first."""
    found: dict[str, Mapping[str, Any]] = {}
    for hit in response["hits"]["hits"]:
        name = hit["fields"]["id"][0]
        if name not in found or found[name]["fields"]["version"][0] < hit["fields"]["version"][0]:
            found[name] = hit
    return list(found.values())


def _unless_missing(ask: Callable[[], Answer], otherwise: Answer) -> Answer:
    """What the collection answers, or `otherwise` where the index does not exist."""
    from opensearchpy.exceptions import NotFoundError

    with translated():
        try:
            return ask()
        except NotFoundError as error:
            if error.error != _MISSING:
                raise
            return otherwise
