"""Writes and searches in an OpenSearch domain or node: BM25 by a script, documents with our own ids and versions.

Documents have external versions: OpenSearch refuses writes that are not newer, and remembers deletions for an hour while
the shard is open. Each write refreshes the shard before it returns, so that a search finds the document from then on.
`refresh=wait_for` would delay each write by up to a second, and save the domain little at the rates of memory.

Every vector field uses the Lucene engine: it filters before the choice of neighbours, needs no native library, and its recall
does not depend on the machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hibernaut.adapters.memory_index import opensearch_requests as requests
from hibernaut.adapters.memory_index.opensearch_client import failed_item, translated, whole
from hibernaut.domain.search.bm25 import K1, USUAL_LENGTH, B
from hibernaut.schemas.memory.search_index import IndexDocument, IndexedState, IndexHit, IndexQuery, Tombstone

_NOT_NEWER = 409
_UNKNOWN_FIELD = "strict_dynamic_mapping_exception"
# Terms come cut and stemmed (`domain.search.words`). The engine's own BM25 would take its rarities from all tenants' documents,
# and from deleted ones until they are merged away; so a query brings each term's rarity as its boost, and the engine adds the
# rest of BM25.
_SIMILARITY = {
    "saturation": {
        "type": "scripted",
        "script": {
            "source": f"query.boost * doc.freq * {K1 + 1} / (doc.freq + {K1} * ({1 - B} + {B} * doc.length / {USUAL_LENGTH}))",
        },
    }
}
_ANALYSIS = {"analyzer": {"terms": {"type": "custom", "tokenizer": "whitespace"}}}


class DomainDialect:
    """The dialect of a domain or node (`opensearch.OpenSearchDialect`). `replicas`: copies of each shard."""

    visible_after = 0.0

    def __init__(self, client: Any, *, replicas: int = 0) -> None:
        self._client = client
        self._replicas = replicas

    def index_body(self, prefix: str, space: str, alias: str) -> dict[str, Any]:
        """Tombstones are retained for an hour. Writers use the name `alias`."""
        return {
            "settings": {
                "index": {
                    "knn": True,
                    "number_of_shards": 1,
                    "number_of_replicas": self._replicas,
                    "gc_deletes": "1h",
                    "analysis": _ANALYSIS,
                    "similarity": _SIMILARITY,
                }
            },
            "aliases": {alias: {}},
            "mappings": {
                "_meta": requests.meta(prefix, space),
                "dynamic": "strict",
                "_source": {"excludes": ["vector", "words"]},  # nothing reads them back: the table knows
                "properties": {
                    **requests.FIELDS,
                    "words": {"type": "text", "analyzer": "terms", "similarity": "saturation", "index_options": "freqs"},
                },
            },
        }

    def vector_mapping(self, dimension: int) -> dict[str, Any]:
        return requests.vector_mapping(dimension, engine="lucene")

    def mappings(self, index: str) -> Mapping[str, Any]:
        with translated():
            found: Mapping[str, Any] = self._client.indices.get_mapping(index=index, ignore_unavailable=True)
        return found

    def delete_index(self, index: str) -> None:
        with translated():
            self._client.indices.delete(index=index, ignore_unavailable=True)

    def write(self, index: str, alias: str, documents: Sequence[IndexDocument]) -> tuple[str, ...] | None:
        """Nobody needs the names of copies here: a document overwrites its older version."""
        return () if self._sent(index, alias, _written(documents)) else None

    def erase(self, index: str, alias: str, tombstones: Sequence[Tombstone]) -> bool:
        return self._sent(index, alias, _removed(tombstones))

    def discard(self, index: str, copies: Sequence[str]) -> None:
        """There are no copies beside a document."""

    def collect(self, index: str, tenant: str) -> int:  # noqa: ARG002  there are no copies to look for
        return 0

    def wake(self, pattern: str) -> None:
        """A domain does not sleep."""

    def searched(self, index: str, searches: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """In one request, which names the index in its body."""
        header = json.dumps({"index": index, "ignore_unavailable": True})
        with translated():
            answer = self._client.msearch(body="".join(f"{header}\n{json.dumps(search)}\n" for search in searches))
        return [whole(response) for response in answer["responses"]]

    def lexical_search(self, query: IndexQuery, weights: Mapping[str, float]) -> dict[str, Any]:
        each = [{"term": {"words": {"value": term, "boost": weight}}} for term, weight in weights.items()]
        criteria = {"bool": {"should": each, "minimum_should_match": 1, "filter": requests.filters(query)}}
        return requests.ranked(criteria, query.limit)

    def lexical_hits(
        self,
        response: Mapping[str, Any],
        query: IndexQuery,  # noqa: ARG002  the engine scores and cuts
        weights: Mapping[str, float],  # noqa: ARG002
    ) -> tuple[IndexHit, ...]:
        return requests.hits_of(response)

    def vector_search(self, query: IndexQuery, vector: Sequence[float]) -> dict[str, Any]:
        return requests.ranked(requests.nearest(query, vector, query.limit), query.limit)

    def vector_hits(self, response: Mapping[str, Any], query: IndexQuery) -> tuple[IndexHit, ...]:  # noqa: ARG002  as above
        return requests.hits_of(response)

    def states(self, index: str, tenant: str, size: int) -> Iterator[IndexedState]:
        after: str | None = None
        while True:
            with translated():
                answer = self._client.search(body=_states_search(tenant, after, size), index=index, ignore_unavailable=True)
            hits = whole(answer)["hits"]["hits"]
            for hit in hits:
                after = hit["_source"]["id"]
                yield IndexedState(id=after, version=hit["_version"], embedded=hit["_source"]["embedded"])
            if len(hits) < size:
                return

    def _sent(self, index: str, alias: str, lines: Iterable[str]) -> bool:
        """False where the index is missing, or has no field for vectors."""
        for body in requests.batches(lines):
            with translated():
                answer = self._client.bulk(body=body, index=alias, refresh="true")
            items = [next(iter(item.values())) for item in answer["items"]]
            if any(item["_index"] != index for item in items):
                return False
            failed = [item for item in items if "error" in item and item["status"] != _NOT_NEWER]
            if any(item["error"]["type"] == _UNKNOWN_FIELD for item in failed):
                return False
            if failed:
                raise failed_item(failed[0])
        return True


def _written(documents: Iterable[IndexDocument]) -> Iterator[str]:
    """Each document's two lines of a bulk request. OpenSearch refuses versions that are not newer (409).

    `require_alias`: if the index is missing, OpenSearch refuses the write and does not create an index with a default mapping.
    """
    for document in documents:
        action = {
            "index": {
                "_id": requests.key(document.tenant, document.id),
                "version": document.version,
                "version_type": "external",
                "require_alias": True,
            }
        }
        yield f"{json.dumps(action)}\n{json.dumps(requests.source(document))}\n"


def _removed(tombstones: Iterable[Tombstone]) -> Iterator[str]:
    """Each tombstone's line. It takes its own version away, too. OpenSearch heeds no `require_alias` here."""
    for tombstone in tombstones:
        action = {
            "delete": {
                "_id": requests.key(tombstone.tenant, tombstone.id),
                "version": tombstone.version,
                "version_type": "external_gte",
            }
        }
        yield f"{json.dumps(action)}\n"


def _states_search(tenant: str, after: str | None, size: int) -> dict[str, Any]:
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
