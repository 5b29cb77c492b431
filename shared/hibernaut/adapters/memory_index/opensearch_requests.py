"""What is sent to OpenSearch: the index of a space, documents, queries. Pure.

Every vector field is kept by the Lucene engine: it filters before it chooses, needs no native library, and its recall does not depend on
the machine. Times are microseconds in a `long`: OpenSearch's dates are as coarse as milliseconds, and a bound is exact.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from hibernaut.domain.search.bm25 import K1, USUAL_LENGTH, B
from hibernaut.domain.search.words import analysed
from hibernaut.schemas.memory.search import IndexDocument, IndexQuery, Reach, Stretch, Tombstone, WordCounts

MOST_BYTES = 5_000_000
"""Of one bulk request: the smallest domains take 10 MiB."""
_START = datetime(1970, 1, 1, tzinfo=UTC)
_DIGITS = 7
_LEAST_NEIGHBOURS = 100
_KEYWORD = {"type": "keyword"}
FORMAT = 2
"""Of an index's mapping. It stands in the index's name: an index of an older format is left alone, and the table fills a new one."""

# Terms come cut and stemmed (`domain.search.words`). The engine's own BM25 would take its rarities from all tenants' documents, and from
# deleted ones until they are merged away; so a query brings each term's rarity as its boost, and the engine adds the rest of BM25.
_SIMILARITY = {
    "saturation": {
        "type": "scripted",
        "script": {
            "source": f"query.boost * doc.freq * {K1 + 1} / (doc.freq + {K1} * ({1 - B} + {B} * doc.length / {USUAL_LENGTH}))",
        },
    }
}
_ANALYSIS = {"analyzer": {"terms": {"type": "custom", "tokenizer": "whitespace"}}}


def index_body(prefix: str, space: str, *, alias: str, replicas: int) -> dict[str, Any]:
    """The index of a space that has no vectors yet. Tombstones are kept for an hour. `alias` is what writers name."""
    return {
        "settings": {
            "index": {
                "knn": True,
                "number_of_shards": 1,
                "number_of_replicas": replicas,
                "gc_deletes": "1h",
                "analysis": _ANALYSIS,
                "similarity": _SIMILARITY,
            }
        },
        "aliases": {alias: {}},
        "mappings": {
            "_meta": {"prefix": prefix, "space": space, "format": FORMAT},
            "dynamic": "strict",
            "_source": {"excludes": ["vector", "words"]},  # nothing reads them back: the table knows
            "properties": {
                **dict.fromkeys(("id", "kind", "tenant", "place", "conversation", "file_id", "role", "tags"), _KEYWORD),
                "created_at": {"type": "long"},
                "embedded": {"type": "boolean"},
                "words": {"type": "text", "analyzer": "terms", "similarity": "saturation", "index_options": "freqs"},
            },
        },
    }


def vector_mapping(dimension: int) -> dict[str, Any]:
    """The field that a space gets with its first vector."""
    method = {
        "name": "hnsw",
        "engine": "lucene",
        "space_type": "cosinesimil",
        "parameters": {"m": 16, "ef_construction": 100},
    }
    return {"properties": {"vector": {"type": "knn_vector", "dimension": dimension, "method": method}}}


def key(tenant: str, document_id: str) -> str:
    """The document's `_id`: no two tenants meet in it, whatever signs their names hold."""
    return f"{len(tenant)}:{tenant}:{document_id}"


def written(documents: Iterable[IndexDocument]) -> Iterator[str]:
    """Each document's two lines of a bulk request. The version decides: what is not newer is refused (409).

    `require_alias`: where the index is gone, OpenSearch refuses rather than make one of its own design.
    """
    for document in documents:
        action = {
            "index": {
                "_id": key(document.tenant, document.id),
                "version": document.version,
                "version_type": "external",
                "require_alias": True,
            }
        }
        yield f"{json.dumps(action)}\n{json.dumps(_source(document))}\n"


def removed(tombstones: Iterable[Tombstone]) -> Iterator[str]:
    """Each tombstone's line. It takes its own version away, too. OpenSearch heeds no `require_alias` here."""
    for tombstone in tombstones:
        action = {
            "delete": {
                "_id": key(tombstone.tenant, tombstone.id),
                "version": tombstone.version,
                "version_type": "external_gte",
            }
        }
        yield f"{json.dumps(action)}\n"


def batches(lines: Iterable[str]) -> Iterator[str]:
    """Bodies of bulk requests, none larger than it must be."""
    batch: list[str] = []
    size = 0
    for line in lines:
        if batch and size + len(line) > MOST_BYTES:
            yield "".join(batch)
            batch, size = [], 0
        batch.append(line)
        size += len(line)
    if batch:
        yield "".join(batch)


def counts_search(query: IndexQuery, wanted: Sequence[str]) -> dict[str, Any]:
    """How many documents the tenant has, and how many of them hold each term."""
    return {
        "size": 0,
        "track_total_hits": True,
        "query": {"bool": {"filter": [{"term": {"tenant": query.tenant}}]}},
        "aggs": {"holding": {"filters": {"filters": {str(number): _holds(term) for number, term in enumerate(wanted)}}}},
    }


def counts_of(response: Mapping[str, Any], wanted: Sequence[str]) -> WordCounts:
    buckets = response.get("aggregations", {}).get("holding", {}).get("buckets", {})
    holding = {term: int(buckets[str(number)]["doc_count"]) for number, term in enumerate(wanted) if str(number) in buckets}
    return WordCounts(texts=int(response["hits"]["total"]["value"]), holding=holding)


def lexical_search(query: IndexQuery, weights: Mapping[str, float]) -> dict[str, Any]:
    """`weights`: the rarities of the terms to look for."""
    each = [{"term": {"words": {"value": term, "boost": weight}}} for term, weight in weights.items()]
    return _search({"bool": {"should": each, "minimum_should_match": 1, "filter": _filters(query)}}, query.limit)


def _holds(term: str) -> dict[str, Any]:
    return {"term": {"words": term}}


def vector_search(query: IndexQuery, vector: tuple[float, ...]) -> dict[str, Any]:
    near = {"vector": list(vector), "k": max(query.limit, _LEAST_NEIGHBOURS), "filter": {"bool": {"filter": _filters(query)}}}
    return _search({"knn": {"vector": near}}, query.limit)


def states_search(tenant: str, after: str | None, size: int) -> dict[str, Any]:
    """The next documents of a tenant by id, with their versions."""
    page: dict[str, Any] = {
        "query": {"bool": {"filter": [{"term": {"tenant": tenant}}]}},
        "sort": [{"id": "asc"}],
        "size": size,
        "version": True,
        "_source": ["id", "embedded"],
        "track_total_hits": False,
    }
    return page if after is None else {**page, "search_after": [after]}


def _search(query: dict[str, Any], limit: int) -> dict[str, Any]:
    """Among equals the newer first. Only ids come back."""
    order: list[Any] = ["_score", {"created_at": "desc"}, {"id": "asc"}]
    return {
        "query": query,
        "size": limit,
        "sort": order,
        "_source": False,
        "track_total_hits": False,
        "docvalue_fields": ["id", "embedded"],
    }


def _filters(query: IndexQuery) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"term": {"tenant": query.tenant}}, {"term": {"kind": query.kind}}]
    if query.places is not None:
        found.append({"terms": {"place": list(query.places)}})
    if query.reach is not None:
        found.append(_within(query.reach))
    if query.file_ids:
        found.append({"terms": {"file_id": list(query.file_ids)}})
    if query.roles:
        found.append({"terms": {"role": list(query.roles)}})
    if query.tags and query.tag_match == "any":
        found.append({"terms": {"tags": list(query.tags)}})
    if query.tags and query.tag_match == "all":
        found.extend({"term": {"tags": tag}} for tag in dict.fromkeys(query.tags))
    bounds = {name: _microseconds(moment) for name, moment in (("gte", query.start), ("lte", query.end)) if moment is not None}
    return [*found, {"range": {"created_at": bounds}}] if bounds else found


def _within(reach: Reach) -> dict[str, Any]:
    """A `bool` without clauses lets everything pass: right for a stretch without bounds, wrong where there is none."""
    ways = [_part(one) for one in reach.stretches]
    if reach.ids:
        ways.append({"terms": {"id": list(reach.ids)}})
    return {"bool": {"should": ways, "minimum_should_match": 1}} if ways else {"match_none": {}}


def _part(stretch: Stretch) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    if stretch.conversation is not None:
        found.append({"term": {"conversation": stretch.conversation}})
    bounds = {name: bound for name, bound in (("gt", stretch.after), ("lte", stretch.upto)) if bound is not None}
    if bounds:
        found.append({"range": {"id": bounds}})
    return {"bool": {"filter": found}}


def _source(document: IndexDocument) -> dict[str, Any]:
    source: dict[str, Any] = {
        **document.model_dump(include={"id", "kind", "tenant", "place", "conversation", "file_id", "role"}),
        "words": " ".join(analysed(document.text)),
        "tags": list(document.tags),
        "created_at": _microseconds(document.created_at),
        "embedded": document.vector is not None,
    }
    if document.vector is not None:
        source["vector"] = [round(number, _DIGITS) for number in document.vector]
    return source


def _microseconds(moment: datetime) -> int:
    return (moment - _START) // timedelta(microseconds=1)
