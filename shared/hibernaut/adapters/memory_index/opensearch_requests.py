"""What every OpenSearch is sent alike: the fields of a document, queries with their filters, bodies of bulk requests. Pure.

Times are microseconds in a `long`: OpenSearch's dates are as coarse as milliseconds, and a bound is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from hibernaut.domain.search.words import analysed
from hibernaut.schemas.memory.search_index import IndexDocument, IndexHit, IndexQuery, Reach, Stretch, WordCounts

MOST_BYTES = 5_000_000
"""Of one bulk request: the smallest domains take 10 MiB."""
_START = datetime(1970, 1, 1, tzinfo=UTC)
_DIGITS = 7
_LEAST_NEIGHBOURS = 100
_KEYWORD = {"type": "keyword"}
FORMAT = 2
"""The format of an index's mapping. It is part of the index's name: an index of an older format stays unused, and a new one is
filled from the table.
"""

FIELDS: dict[str, Any] = {
    **dict.fromkeys(("id", "kind", "tenant", "place", "conversation", "file_id", "role", "tags", "before"), _KEYWORD),
    "created_at": {"type": "long"},
    "embedded": {"type": "boolean"},
}
"""The fields that hits are filtered and sorted by, and `before`, which they bring along. An index gets those that it lacks at its
first write.
"""


def meta(prefix: str, space: str) -> dict[str, Any]:
    """The metadata of an index: its owner and its space."""
    return {"prefix": prefix, "space": space, "format": FORMAT}


def vector_mapping(dimension: int, **field: Any) -> dict[str, Any]:
    """The field that a space gets with its first vector. `field`: what a kind of OpenSearch adds to it; `engine`: of k-NN."""
    engine = {"engine": field.pop("engine")} if "engine" in field else {}
    method = {"name": "hnsw", **engine, "space_type": "cosinesimil", "parameters": {"m": 16, "ef_construction": 100}}
    return {"properties": {"vector": {"type": "knn_vector", "dimension": dimension, "method": method, **field}}}


def key(tenant: str, document_id: str) -> str:
    """The document's `_id`: no two tenants meet in it, whatever signs their names hold."""
    return f"{len(tenant)}:{tenant}:{document_id}"


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


def counts_search(query: IndexQuery, query_terms: Sequence[str]) -> dict[str, Any]:
    """The request for the number of the tenant's documents, and the numbers of those with each term."""
    return {
        "size": 0,
        "track_total_hits": True,
        "query": {"bool": {"filter": [{"term": {"tenant": query.tenant}}]}},
        "aggs": {"holding": {"filters": {"filters": {str(number): _holds(term) for number, term in enumerate(query_terms)}}}},
    }


def counts_of(response: Mapping[str, Any], query_terms: Sequence[str]) -> WordCounts:
    """The counts in the response to a request for the frequencies of these terms, in their order."""
    buckets = response.get("aggregations", {}).get("holding", {}).get("buckets", {})
    holding = {term: int(buckets[str(number)]["doc_count"]) for number, term in enumerate(query_terms) if str(number) in buckets}
    return WordCounts(texts=int(response["hits"]["total"]["value"]), holding=holding)


def _holds(term: str) -> dict[str, Any]:
    return {"term": {"words": term}}


def nearest(query: IndexQuery, vector: Sequence[float], k: int) -> dict[str, Any]:
    """The `k` documents (at least 100) that pass the filters and are nearest to the vector."""
    near = {"vector": list(vector), "k": max(k, _LEAST_NEIGHBOURS), "filter": {"bool": {"filter": filters(query)}}}
    return {"knn": {"vector": near}}


def ranked(query: dict[str, Any], limit: int) -> dict[str, Any]:
    """A search, best first, among equals the newer first. Only ids come back."""
    order: list[Any] = ["_score", {"created_at": "desc"}, {"id": "asc"}]
    return {
        "query": query,
        "size": limit,
        "sort": order,
        "_source": False,
        "track_total_hits": False,
        "docvalue_fields": ["id", "embedded", "before"],
    }


def hits_of(response: Mapping[str, Any]) -> tuple[IndexHit, ...]:
    """The hits of a `ranked` search, in its order."""
    return tuple(
        IndexHit(
            id=hit["fields"]["id"][0],
            score=hit["_score"],
            embedded=hit["fields"]["embedded"][0],
            before=before_of(hit),
        )
        for hit in response["hits"]["hits"]
    )


def before_of(hit: Mapping[str, Any]) -> str:
    """The id of the document before a hit; "" where it has none, or was written by a release that named none."""
    found: str = hit["fields"].get("before", [""])[0]
    return found


def filters(query: IndexQuery) -> list[dict[str, Any]]:
    """The clauses that a hit must pass."""
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


def source(document: IndexDocument) -> dict[str, Any]:
    """The fields of a document."""
    fields: dict[str, Any] = {
        **document.model_dump(include={"id", "kind", "tenant", "place", "conversation", "file_id", "role", "before"}),
        "words": " ".join(analysed(document.text)),
        "tags": list(document.tags),
        "created_at": _microseconds(document.created_at),
        "embedded": document.vector is not None,
    }
    if document.vector is not None:
        fields["vector"] = [round(number, _DIGITS) for number in document.vector]
    return fields


def _microseconds(moment: datetime) -> int:
    return (moment - _START) // timedelta(microseconds=1)
