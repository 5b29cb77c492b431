"""The index of memory on AWS, by its address. Nothing is imported, and nobody asked, before the index is: most steps search nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hibernaut.ports.memory_index import MemoryIndex
from hibernaut.schemas.search import IndexDocument, IndexedState, IndexFound, IndexQuery, Tombstone
from hibernaut.wiring.settings import AwsSettings

if TYPE_CHECKING:
    from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex

PREFIX = "memory"
"""What the names of our indices begin with: the roles of the stack are allowed these and no others."""


class AtFirstUse:
    """An index that is made when it is first asked. Making it may raise IndexAsleep, as every call may."""

    def __init__(self, make: Callable[[], MemoryIndex]) -> None:
        self._make = make

    @cached_property
    def _index(self) -> MemoryIndex:
        return self._make()

    def put(self, space: str, documents: Sequence[IndexDocument]) -> None:
        self._index.put(space, documents)

    def remove(self, space: str, tombstones: Sequence[Tombstone]) -> None:
        self._index.remove(space, tombstones)

    def search(self, space: str, query: IndexQuery) -> IndexFound:
        return self._index.search(space, query)

    def states(self, space: str, tenant: str) -> Iterator[IndexedState]:
        return self._index.states(space, tenant)

    def spaces(self) -> list[str]:
        return self._index.spaces()

    def drop(self, space: str) -> None:
        self._index.drop(space)


def index_of(settings: AwsSettings) -> MemoryIndex | None:
    """The index that the settings name; None where memory is not indexed."""
    if not settings.opensearch:
        return None
    return AtFirstUse(lambda: _made(settings.opensearch, settings.opensearch_replicas))


def _made(address: str, replicas: int) -> MemoryIndex:
    """A path is a file of this machine, where AWS is only pretended; an address without TLS is a node of this machine, which asks for
    no signature."""
    if address.startswith("/"):
        return _file(address)
    import boto3

    from hibernaut.adapters.memory_index.opensearch import OpenSearchMemoryIndex
    from hibernaut.adapters.memory_index.opensearch_client import connected

    region = boto3.session.Session().region_name if address.startswith("https://") else None
    return OpenSearchMemoryIndex(connected(address, region=region), prefix=PREFIX, replicas=replicas)


@cache
def _file(path: str) -> SqliteMemoryIndex:
    """One for the whole process, as there is one domain for all functions."""
    from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex

    return SqliteMemoryIndex(Path(path))


def close_file(path: str) -> None:
    """Whoever pretended to be AWS ends: what is asked of this index afterwards is refused."""
    if Path(path).exists():
        _file(path).close()
