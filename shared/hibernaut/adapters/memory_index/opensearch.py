"""The index in OpenSearch: one index per space for all tenants. A domain and a serverless collection differ by their dialects.

A search sends two requests. The first counts the tenant's documents with each term of the query, and finds the nearest vectors.
The second finds the documents with the terms; the weight of a term is its rarity among the tenant's documents. No tenant's
documents affect the scores of another tenant.

The first write creates a space's index, and the first vector creates its vector field with the vector's dimension. In a race, the
second writer finds the index of the first.

Must not know: the meaning of documents; the syntax of a dialect's requests.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from hibernaut.adapters.memory_index import opensearch_requests as requests
from hibernaut.adapters.memory_index.opensearch_client import translated
from hibernaut.domain.search.bm25 import rarities
from hibernaut.domain.search.words import terms
from hibernaut.ports.memory.memory_index import IndexAsleep
from hibernaut.schemas.memory.search_index import IndexDocument, IndexedState, IndexFound, IndexHit, IndexQuery, Tombstone

_STATES_AT_ONCE = 1000
_IS_THERE = "resource_already_exists_exception"
_INVALID_ALIAS = "invalid_alias_name_exception"
Done = TypeVar("Done")


class OpenSearchDialect(Protocol):
    """What a kind of OpenSearch takes and how it answers. A method that asks raises IndexAsleep, or ValueError for a request that
    makes no sense. `visible_after`: seconds until a search finds what was written.
    """

    @property
    def visible_after(self) -> float: ...

    def index_body(self, prefix: str, space: str, alias: str) -> dict[str, Any]:
        """The index of a space that has no vectors yet."""

    def vector_mapping(self, dimension: int) -> dict[str, Any]:
        """The field that a space gets with its first vector."""

    def mappings(self, index: str) -> Mapping[str, Any]:
        """The mappings of the indices of this name or pattern, by name; missing ones are omitted."""

    def delete_index(self, index: str) -> None:
        """A missing one is fine."""

    def write(self, index: str, alias: str, documents: Sequence[IndexDocument]) -> tuple[str, ...] | None:
        """The names of the copies that were written, for `discard`. None: the index is missing, or is not as it must be."""

    def erase(self, index: str, alias: str, tombstones: Sequence[Tombstone]) -> bool:
        """Delete documents by their own ids. False: as None of `write`."""

    def discard(self, index: str, copies: Sequence[str]) -> None:
        """Delete copies by the names that `write` returned; a missing one is fine."""

    def collect(self, index: str, tenant: str) -> int:
        """Delete all copies of a tenant's documents but the newest of each. Returns how many."""

    def wake(self, pattern: str) -> None:
        """Wait until the indices of this pattern answer searches."""

    def searched(self, index: str, searches: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The responses; without hits where the index is missing."""

    def lexical_search(self, query: IndexQuery, weights: Mapping[str, float]) -> dict[str, Any]:
        """The search by words. `weights`: the rarities of the terms to look for."""

    def lexical_hits(self, response: Mapping[str, Any], query: IndexQuery, weights: Mapping[str, float]) -> tuple[IndexHit, ...]:
        """The hits of a response to `lexical_search`, best first, at most as many as the query wants."""

    def vector_search(self, query: IndexQuery, vector: Sequence[float]) -> dict[str, Any]:
        """The search by meaning, with the filters of the query."""

    def vector_hits(self, response: Mapping[str, Any], query: IndexQuery) -> tuple[IndexHit, ...]:
        """The hits of a response to `vector_search`, best first, at most as many as the query wants."""

    def states(self, index: str, tenant: str, size: int) -> Iterator[IndexedState]:
        """All documents of a tenant in the order of their ids, read in pages of `size`."""


class OpenSearchMemoryIndex:
    """Indices `<prefix>-<format>-<space>` behind the client (`opensearch_client.connected`)."""

    def __init__(self, client: Any, *, prefix: str, dialect: OpenSearchDialect) -> None:
        self._client = client
        self.prefix = prefix
        self._dialect = dialect
        self.visible_after = dialect.visible_after
        self._turn = threading.Lock()
        self._dimensions: dict[str, int] = {}

    def close(self) -> None:
        self._client.close()

    def put(self, space: str, documents: Sequence[IndexDocument]) -> tuple[str, ...]:
        vectors = [document.vector for document in documents if document.vector is not None]
        for vector in vectors:
            _check_direction(vector)
        dimensions = {len(vector) for vector in vectors}
        if len(dimensions) > 1:
            raise ValueError(f"a space has vectors of one dimension, not of {sorted(dimensions)}")
        if not documents:
            return ()
        self._fit(space, dimensions)
        return self._again(space, lambda: self._dialect.write(self._index(space), self._alias(space), documents), dimensions)

    def remove(self, space: str, tombstones: Sequence[Tombstone]) -> None:
        if tombstones:
            self._again(space, lambda: self._dialect.erase(self._index(space), self._alias(space), tombstones) or None, set())

    def discard(self, space: str, copies: Sequence[str]) -> None:
        if copies:
            self._dialect.discard(self._index(space), copies)

    def collect(self, space: str, tenant: str) -> int:
        return self._dialect.collect(self._index(space), tenant)

    def wake(self) -> None:
        self._dialect.wake(f"{self.prefix}-*")

    def search(self, space: str, query: IndexQuery) -> IndexFound:
        try:
            return self._search(space, query)
        except ValueError:
            if not self._forgotten(space):
                raise
            return self._search(space, query)  # what was remembered of the space may be of one that was dropped

    def states(self, space: str, tenant: str) -> Iterator[IndexedState]:
        return self._dialect.states(self._index(space), tenant, _STATES_AT_ONCE)

    def spaces(self) -> list[str]:
        found = self._dialect.mappings(f"{self.prefix}-*")
        metas = [index["mappings"].get("_meta", {}) for index in found.values()]
        ours = {"prefix": self.prefix, "format": requests.FORMAT}
        return sorted(meta["space"] for meta in metas if ours.items() <= meta.items())

    def drop(self, space: str) -> None:
        self._dialect.delete_index(self._index(space))
        self._forgotten(space)

    def _index(self, space: str) -> str:
        return f"{self.prefix}-{requests.FORMAT}-{space}"

    def _alias(self, space: str) -> str:
        """What writers name. Names of spaces have no dots."""
        return f"{self._index(space)}.writes"

    def _search(self, space: str, query: IndexQuery) -> IndexFound:
        query_terms = terms(query.text or "")
        vector = self._vector_search(space, query)
        counting = requests.counts_search(query, query_terms) if query_terms else None
        searches = [search for search in (counting, vector) if search is not None]
        first = self._dialect.searched(self._index(space), searches) if searches else []
        near = self._dialect.vector_hits(first[-1], query) if vector is not None else ()
        if counting is None:
            return IndexFound(vector=near)
        counts = requests.counts_of(first[0], query_terms)
        weights = {
            term: weight for term, weight in rarities(query_terms, counts, query.unindexed).items() if counts.holding.get(term)
        }
        if not weights:
            return IndexFound(vector=near, counts=counts)
        (response,) = self._dialect.searched(self._index(space), [self._dialect.lexical_search(query, weights)])
        return IndexFound(lexical=self._dialect.lexical_hits(response, query, weights), vector=near, counts=counts)

    def _vector_search(self, space: str, query: IndexQuery) -> dict[str, Any] | None:
        """None where the query has no vector, or the space has none. Raises: ValueError for a vector of another dimension."""
        dimension = None if query.vector is None else self._dimension_of(space)
        if query.vector is None or dimension is None:
            return None
        _check_dimension(space, dimension, len(query.vector))
        _check_direction(query.vector)
        return self._dialect.vector_search(query, query.vector)

    def _again(self, space: str, send: Callable[[], Done | None], dimensions: set[int]) -> Done:
        """Send all; where the index is missing, or not as remembered, make it and send all once more: versions forgive that."""
        done = send()
        if done is None:
            self._forgotten(space)
            self._create_index(space)
            self._fit(space, dimensions)
            done = send()
        if done is None:
            raise IndexAsleep(f"the index of {space} was dropped while it was written to")
        return done

    def _fit(self, space: str, dimensions: set[int]) -> None:
        """Ensure that the space accepts vectors of these dimensions. Raises: ValueError if it cannot."""
        for dimension in sorted(dimensions):
            current = self._dimension_of(space)
            if current not in (None, dimension) and self._forgotten(space):
                current = self._dimension_of(space)
            if current is None:
                self._create_index(space)
                with translated():
                    self._client.indices.put_mapping(index=self._index(space), body=self._dialect.vector_mapping(dimension))
                continue
            _check_dimension(space, current, dimension)

    def _create_index(self, space: str) -> None:
        """Create the space's index. One that exists gets the fields that an earlier release did not give it.

        A deletion in a missing index creates an index with the alias's name. Such an index blocks the alias and is deleted.
        """
        body = self._dialect.index_body(self.prefix, space, self._alias(space))
        try:
            if not self._created(space, body):
                self._dialect.delete_index(self._alias(space))
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
                if error.error == _INVALID_ALIAS:
                    return False
                if error.error != _IS_THERE:
                    raise
                self._client.indices.put_mapping(index=self._index(space), body={"properties": requests.FIELDS})
        return True

    def _dimension_of(self, space: str) -> int | None:
        """The dimension of the space's vectors; None without vectors. It stays the same until the space is dropped."""
        with self._turn:
            cached = self._dimensions.get(space)
        if cached is not None:
            return cached
        fields = [index["mappings"].get("properties", {}) for index in self._dialect.mappings(self._index(space)).values()]
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


def _check_dimension(space: str, expected: int, found: int) -> None:
    if found != expected:
        raise ValueError(f"the space {space} has vectors of {expected} numbers, not of {found}")


def _check_direction(vector: Sequence[float]) -> None:
    if not any(vector) or not all(map(math.isfinite, vector)):
        raise ValueError("a vector needs finite numbers, and not all of them zero")
