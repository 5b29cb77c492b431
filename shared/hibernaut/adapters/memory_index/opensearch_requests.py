"""What is sent to OpenSearch: the index of a space, documents, queries. Pure.

Every vector field is kept by the Lucene engine: it filters before it chooses, needs no native library, and its recall does not depend on
the machine. Times are microseconds in a `long`: OpenSearch's dates are as coarse as milliseconds, and a bound is exact.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from hibernaut.domain.search.words import terms
from hibernaut.schemas.search import IndexDocument, IndexQuery, Reach, Stretch, Tombstone

MOST_BYTES = 5_000_000
"""Of one bulk request: the smallest domains take 10 MiB."""
_START = datetime(1970, 1, 1, tzinfo=UTC)
_DIGITS = 7
_LEAST_NEIGHBOURS = 100
_CJK_TYPES = ("<IDEOGRAPHIC>", "<HIRAGANA>", "<KATAKANA>", "<HANGUL>")
_KEYWORD = {"type": "keyword"}

# English words by their stems, other scripts by pairs of characters, each in a field of its own; what is no letter, mark or digit parts
# words in both, so that `load_config.py` is three.
_ANALYSIS = {
    "char_filter": {"signs": {"type": "pattern_replace", "pattern": "[^\\p{L}\\p{M}\\p{N}]+", "replacement": " "}},
    "filter": {"without_cjk": {"type": "keep_types", "mode": "exclude", "types": list(_CJK_TYPES)}},
    "analyzer": {
        "stems": {
            "type": "custom",
            "char_filter": ["signs"],
            "tokenizer": "standard",
            "filter": ["without_cjk", "lowercase", "asciifolding", "porter_stem"],
        },
        "plain": {
            "type": "custom",
            "char_filter": ["signs"],
            "tokenizer": "standard",
            "filter": ["cjk_width", "lowercase", "asciifolding", "cjk_bigram"],
        },
    },
}


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
            }
        },
        "aliases": {alias: {}},
        "mappings": {
            "_meta": {"prefix": prefix, "space": space},
            "dynamic": "strict",
            "_source": {"excludes": ["vector", "text"]},  # nothing reads them back: the table knows
            "properties": {
                **dict.fromkeys(("id", "kind", "tenant", "place", "conversation", "file_id", "role", "tags"), _KEYWORD),
                "created_at": {"type": "long"},
                "embedded": {"type": "boolean"},
                "text": {
                    "type": "text",
                    "index": False,
                    "fields": {"en": {"type": "text", "analyzer": "stems"}, "any": {"type": "text", "analyzer": "plain"}},
                },
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


def lexical_search(query: IndexQuery) -> dict[str, Any] | None:
    """None where the query has no words. Each word is asked for once more by its number, which costs no score: which of them a hit has
    is told by `matched_queries`."""
    words = terms(query.text or "")
    if not words:
        return None
    matching = {"multi_match": {"query": " ".join(words), "type": "best_fields", "fields": ["text.en", "text.any^0.5"]}}
    each = [
        {"multi_match": {"query": word, "fields": ["text.en", "text.any"], "boost": 0, "_name": str(number)}}
        for number, word in enumerate(words)
    ]
    return _search({"bool": {"must": [matching], "should": each, "filter": _filters(query)}}, query.limit)


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
        **document.model_dump(include={"id", "kind", "tenant", "place", "conversation", "file_id", "role", "text"}),
        "tags": list(document.tags),
        "created_at": _microseconds(document.created_at),
        "embedded": document.vector is not None,
    }
    if document.vector is not None:
        source["vector"] = [round(number, _DIGITS) for number in document.vector]
    return source


def _microseconds(moment: datetime) -> int:
    return (moment - _START) // timedelta(microseconds=1)
