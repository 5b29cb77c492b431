"""The index of memory on AWS, by its address. The client is imported and connected at its first use: most steps do not search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from hibernaut.ports.memory.memory_index import MemoryIndex
from hibernaut.schemas.memory.search_index import IndexDocument, IndexedState, IndexFound, IndexQuery, Tombstone
from hibernaut.wiring.settings import AwsSettings

PREFIX = "memory"
"""The prefix of the names of our indices. The roles of the stack may use no others."""


class LazyMemoryIndex:
    """An index whose client is created at its first call. Each method has the contract of `MemoryIndex`.

    Creating the client may raise IndexAsleep, as every call may. `visible_after` is known before the client is created.
    """

    def __init__(self, make: Callable[[], MemoryIndex], *, visible_after: float = 0.0) -> None:
        self._make = make
        self.visible_after = visible_after

    @cached_property
    def _index(self) -> MemoryIndex:
        return self._make()

    def put(self, space: str, documents: Sequence[IndexDocument]) -> Sequence[str]:
        return self._index.put(space, documents)

    def remove(self, space: str, tombstones: Sequence[Tombstone]) -> None:
        self._index.remove(space, tombstones)

    def discard(self, space: str, copies: Sequence[str]) -> None:
        self._index.discard(space, copies)

    def collect(self, space: str, tenant: str) -> int:
        return self._index.collect(space, tenant)

    def wake(self) -> None:
        self._index.wake()

    def search(self, space: str, query: IndexQuery) -> IndexFound:
        return self._index.search(space, query)

    def states(self, space: str, tenant: str) -> Iterator[IndexedState]:
        return self._index.states(space, tenant)

    def spaces(self) -> list[str]:
        return self._index.spaces()

    def drop(self, space: str) -> None:
        self._index.drop(space)


READER_SECONDS = 3.0
"""The time-out of a search request to a collection. While a collection wakes up, searches use words in the table."""
FEEDER_SECONDS = 60.0
"""The same for the feeder, which can wait until the collection is awake."""


def index_of(settings: AwsSettings, *, feeds: bool = False) -> MemoryIndex | None:
    """The index that the settings name; None if memory is not indexed. `feeds`: it is written to, not only searched."""
    if not settings.opensearch:
        return None
    if settings.opensearch_service == "es":
        return LazyMemoryIndex(lambda: domain_index(settings.opensearch, settings.opensearch_replicas))
    from hibernaut.adapters.memory_index.opensearch_collection import VISIBLE_AFTER

    seconds = FEEDER_SECONDS if feeds else READER_SECONDS
    return LazyMemoryIndex(lambda: collection_index(settings.opensearch, seconds), visible_after=VISIBLE_AFTER)


def domain_index(address: str, replicas: int) -> MemoryIndex:
    """The index at this address. Requests to an `https` address are signed with the region's AWS credentials. An `http` address
    is a node on this machine, which needs no signature.
    """
    import boto3

    from hibernaut.adapters.memory_index.opensearch import OpenSearchMemoryIndex
    from hibernaut.adapters.memory_index.opensearch_client import connected
    from hibernaut.adapters.memory_index.opensearch_domain import DomainDialect

    region = boto3.session.Session().region_name if address.startswith("https://") else None
    client = connected(address, region=region)
    return OpenSearchMemoryIndex(client, prefix=PREFIX, dialect=DomainDialect(client, replicas=replicas))


def collection_index(address: str, seconds: float) -> MemoryIndex:
    """The index in the vector collection at this address. `seconds`: the time-out of a request. As for a domain, an `http`
    address needs no signature.
    """
    import boto3

    from hibernaut.adapters.memory_index.opensearch import OpenSearchMemoryIndex
    from hibernaut.adapters.memory_index.opensearch_client import connected
    from hibernaut.adapters.memory_index.opensearch_collection import CollectionDialect

    region = boto3.session.Session().region_name if address.startswith("https://") else None
    client = connected(address, region=region, service="aoss", seconds=seconds)
    return OpenSearchMemoryIndex(client, prefix=PREFIX, dialect=CollectionDialect(client))
