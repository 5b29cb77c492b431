"""The index in an OpenSearch domain or node: one index per space for all tenants.

A search is two requests: how the query's terms are spread over the tenant's documents, beside the nearest vectors; then the documents that
hold the terms, each term weighed by its rarity among the tenant's own. No tenant's documents move the scores of another's.

A space's index is made by its first write, and its vector field by its first vector, whose dimension it keeps. Whoever is second in a
race finds it made. Documents carry their versions to OpenSearch (external versions): it refuses what is not newer, and remembers
deletions for an hour while the shard is open.

Each write refreshes the shard before it returns: whoever is told that a document was written may stop looking for it elsewhere.
`refresh=wait_for` would make each write wait for up to a second and save the domain little at the rates of memory.

Must not know: what documents are about.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from hibernaut.adapters.memory_index import opensearch_requests as requests
from hibernaut.adapters.memory_index.opensearch_client import of_status, translated
from hibernaut.domain.search.bm25 import rarities
from hibernaut.domain.search.words import terms
from hibernaut.ports.memory_index import IndexAsleep
from hibernaut.schemas.memory.search import IndexDocument, IndexedState, IndexFound, IndexHit, IndexQuery, Tombstone

_STATES_AT_ONCE = 1000
_NOT_NEWER = 409
_IS_THERE = "resource_already_exists_exception"
_NAME_TAKEN = "invalid_alias_name_exception"
_UNKNOWN_FIELD = "strict_dynamic_mapping_exception"


class OpenSearchMemoryIndex:
    """Indices `<prefix>-<format>-<space>` behind the client (`opensearch_client.connected`)."""

    def __init__(self, client: Any, *, prefix: str, replicas: int = 0) -> None:
        self._client = client
        self.prefix = prefix
        self._replicas = replicas
        self._turn = threading.Lock()
        self._dimensions: dict[str, int] = {}

    def close(self) -> None:
        self._client.close()

    def put(self, space: str, documents: Sequence[IndexDocument]) -> None:
        vectors = [document.vector for document in documents if document.vector is not None]
        for vector in vectors:
            _check_direction(vector)
        dimensions = {len(vector) for vector in vectors}
        if len(dimensions) > 1:
            raise ValueError(f"a space has vectors of one dimension, not of {sorted(dimensions)}")
        if documents:
            self._write(space, lambda: requests.written(documents), dimensions)

    def remove(self, space: str, tombstones: Sequence[Tombstone]) -> None:
        if tombstones:
            self._write(space, lambda: requests.removed(tombstones), set())

    def search(self, space: str, query: IndexQuery) -> IndexFound:
        try:
            return self._search(space, query)
        except ValueError:
            if not self._forgotten(space):
                raise
            return self._search(space, query)  # what was remembered of the space may be of one that was dropped

    def states(self, space: str, tenant: str) -> Iterator[IndexedState]:
        after: str | None = None
        while True:
            asked = requests.states_search(tenant, after, _STATES_AT_ONCE)
            with translated():
                answer = self._client.search(body=asked, index=self._index(space), ignore_unavailable=True)
            hits = _whole(answer)["hits"]["hits"]
            for hit in hits:
                after = hit["_source"]["id"]
                yield IndexedState(id=after, version=hit["_version"], embedded=hit["_source"]["embedded"])
            if len(hits) < _STATES_AT_ONCE:
                return

    def spaces(self) -> list[str]:
        with translated():
            found = self._client.indices.get_mapping(index=f"{self.prefix}-*")
        metas = [index["mappings"].get("_meta", {}) for index in found.values()]
        ours = {"prefix": self.prefix, "format": requests.FORMAT}
        return sorted(meta["space"] for meta in metas if ours.items() <= meta.items())

    def drop(self, space: str) -> None:
        with translated():
            self._client.indices.delete(index=self._index(space), ignore_unavailable=True)
        self._forgotten(space)

    def _index(self, space: str) -> str:
        return f"{self.prefix}-{requests.FORMAT}-{space}"

    def _alias(self, space: str) -> str:
        """What writers name. Names of spaces have no dots."""
        return f"{self._index(space)}.writes"

    def _search(self, space: str, query: IndexQuery) -> IndexFound:
        wanted = terms(query.text or "")
        vector = self._vector_search(space, query)
        counting = requests.counts_search(query, wanted) if wanted else None
        first = self._asked(space, [search for search in (counting, vector) if search is not None])
        near = _hits(first[-1]) if vector is not None else ()
        if counting is None:
            return IndexFound(vector=near)
        counts = requests.counts_of(first[0], wanted)
        held = {term: weight for term, weight in rarities(wanted, counts, query.beside).items() if counts.holding.get(term)}
        found = _hits(*self._asked(space, [requests.lexical_search(query, held)])) if held else ()
        return IndexFound(lexical=found, vector=near, counts=counts)

    def _asked(self, space: str, searches: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The responses to searches of a space, which has no documents where it does not exist."""
        if not searches:
            return []
        header = json.dumps({"index": self._index(space), "ignore_unavailable": True})
        with translated():
            answer = self._client.msearch(body="".join(f"{header}\n{json.dumps(search)}\n" for search in searches))
        return [_whole(response) for response in answer["responses"]]

    def _vector_search(self, space: str, query: IndexQuery) -> dict[str, Any] | None:
        """None where the query has no vector, or the space has none. Raises: ValueError for a vector of another dimension."""
        dimension = None if query.vector is None else self._dimension_of(space)
        if query.vector is None or dimension is None:
            return None
        _check_dimension(space, dimension, len(query.vector))
        _check_direction(query.vector)
        return requests.vector_search(query, query.vector)

    def _write(self, space: str, lines: Callable[[], Iterable[str]], dimensions: set[int]) -> None:
        """Send all; where the index is missing, or not as remembered, make it and send all once more: versions forgive that."""
        self._fit(space, dimensions)
        if self._sent(space, lines()):
            return
        self._forgotten(space)
        self._made(space)
        self._fit(space, dimensions)
        if not self._sent(space, lines()):
            raise IndexAsleep(f"the index of {space} was dropped while it was written to")

    def _fit(self, space: str, dimensions: set[int]) -> None:
        """See to it that the space takes vectors of these dimensions. Raises: ValueError where it cannot."""
        for dimension in sorted(dimensions):
            known = self._dimension_of(space)
            if known not in (None, dimension) and self._forgotten(space):
                known = self._dimension_of(space)
            if known is None:
                self._made(space)
                with translated():
                    self._client.indices.put_mapping(index=self._index(space), body=requests.vector_mapping(dimension))
                continue
            _check_dimension(space, known, dimension)

    def _sent(self, space: str, lines: Iterable[str]) -> bool:
        """False where the index is missing, or has no field for vectors."""
        for body in requests.batches(lines):
            with translated():
                answer = self._client.bulk(body=body, index=self._alias(space), refresh="true")
            items = [next(iter(item.values())) for item in answer["items"]]
            if any(item["_index"] != self._index(space) for item in items):
                return False
            failed = [item for item in items if "error" in item and item["status"] != _NOT_NEWER]
            if any(item["error"]["type"] == _UNKNOWN_FIELD for item in failed):
                return False
            if failed:
                raise of_status(failed[0]["status"], f"{failed[0]['error']['type']}: {failed[0]['error'].get('reason')}")
        return True

    def _made(self, space: str) -> None:
        """The space's index, unless it is there.

        A deletion sent to a missing index makes one by the alias's name, which is in the way, and taken away.
        """
        body = requests.index_body(self.prefix, space, alias=self._alias(space), replicas=self._replicas)
        try:
            if not self._created(space, body):
                with translated():
                    self._client.indices.delete(index=self._alias(space), ignore_unavailable=True)
                self._created(space, body)
        except ValueError as error:
            raise IndexAsleep(f"the index of {space} cannot be made: {error}") from error

    def _created(self, space: str, body: Mapping[str, Any]) -> bool:
        """False where something else has the alias's name."""
        from opensearchpy.exceptions import RequestError

        with translated():
            try:
                self._client.indices.create(index=self._index(space), body=body)
            except RequestError as error:
                if error.error == _NAME_TAKEN:
                    return False
                if error.error != _IS_THERE:
                    raise
        return True

    def _dimension_of(self, space: str) -> int | None:
        """None where the space has no vectors. Once it has, the dimension stays, until it is dropped."""
        with self._turn:
            known = self._dimensions.get(space)
        if known is not None:
            return known
        with translated():
            found = self._client.indices.get_mapping(index=self._index(space), ignore_unavailable=True)
        fields = [index["mappings"].get("properties", {}) for index in found.values()]
        if not fields or "vector" not in fields[0]:
            return None
        dimension = int(fields[0]["vector"]["dimension"])
        with self._turn:
            self._dimensions[space] = dimension
        return dimension

    def _forgotten(self, space: str) -> bool:
        """Was there anything remembered of it?"""
        with self._turn:
            return self._dimensions.pop(space, None) is not None


def _check_dimension(space: str, known: int, found: int) -> None:
    if found != known:
        raise ValueError(f"the space {space} has vectors of {known} numbers, not of {found}")


def _check_direction(vector: Sequence[float]) -> None:
    if not any(vector) or not all(map(math.isfinite, vector)):
        raise ValueError("a vector needs finite numbers, and not all of them zero")


def _hits(response: Mapping[str, Any]) -> tuple[IndexHit, ...]:
    return tuple(
        IndexHit(id=hit["fields"]["id"][0], score=hit["_score"], embedded=hit["fields"]["embedded"][0])
        for hit in response["hits"]["hits"]
    )


def _whole(response: Mapping[str, Any]) -> Mapping[str, Any]:
    """The response, if all of the index answered in time."""
    if "error" in response:
        raise of_status(response.get("status"), f"{response['error'].get('type')}: {response['error'].get('reason')}")
    if response["timed_out"] or response["_shards"]["failed"]:
        raise IndexAsleep("a part of the index did not answer")
    return response
