"""The index of memory: words and vectors, ranked. It is derived from the table, so that it may lag, sleep, be dropped and be
rebuilt.

A space contains all documents with vectors of one model (`Embedder.space`); documents without vectors are in the space "words".
An engine never retries by itself.

Some engines overwrite a document by its id (`visible_after` is 0). Other engines store each write as a new *copy*, which a search
finds later. For these, the writer stores the names of the copies until a search finds them, and discards replaced copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from hibernaut.schemas.memory.search_index import IndexDocument, IndexedState, IndexFound, IndexQuery, Tombstone

WORDS = "words"
"""The space of documents without vectors."""


class IndexAsleep(Exception):
    """The index cannot be reached, or is not ready: the write may or may not have been applied. The table has everything."""


class MemoryIndex(Protocol):
    """The engine. Thread-safe. Every call may raise IndexAsleep."""

    visible_after: float
    """Seconds until every search finds what was written. 0: at once. Until then the table's pointers must stay."""

    def put(self, space: str, documents: Sequence[IndexDocument]) -> Sequence[str]:
        """Write them. With `visible_after` 0, one that stands there in the same or a higher version (or as a tombstone of one)
        stays as it is, and every search that begins after this returns finds them: the table's pointers to them may go. Otherwise
        each becomes a copy, and a search finds the newest of the visible ones. Returns the names of the copies, in the order of
        the documents; empty where documents are overwritten. Raises: ValueError for vectors of another dimension than the
        space's, or without a direction; then nothing was done."""

    def remove(self, space: str, tombstones: Sequence[Tombstone]) -> None:
        """Delete the documents from searches; unknown ids are ignored. With `visible_after` 0, a document of a lower or the same
        version cannot come back for an hour."""

    def discard(self, space: str, copies: Sequence[str]) -> None:
        """Take away the copies of these names, whether a search finds them yet or not; a missing one is fine."""

    def collect(self, space: str, tenant: str) -> int:
        """Take away the doubles and the older copies of a tenant's documents that a search finds. Returns how many there were."""

    def wake(self) -> None:
        """Wait until the engine answers searches. An engine that never sleeps returns at once."""

    def search(self, space: str, query: IndexQuery) -> IndexFound:
        """The candidates by words and by meaning, each list best first, of equal hits the newer first, and at most `query.limit`
        (1 to 1000) of each. Scores by words are BM25 (`domain.search.bm25`): above 0, at most K1 + 1 times the rarities of the
        query's terms together, with rarities of the tenant's own documents in this space and of `query.unindexed`, whatever other
        tenants have. Scores by meaning are (1 + cosine) / 2: 0 to 1. A space that does not exist has no hits. Raises:
        IndexAsleep; ValueError for a vector of another dimension, or without a direction."""

    def states(self, space: str, tenant: str) -> Iterator[IndexedState]:
        """All documents of a tenant, in the order of their ids."""

    def spaces(self) -> list[str]:
        """The spaces that exist."""

    def drop(self, space: str) -> None:
        """Delete the space and all its documents; no error if the space is missing."""
