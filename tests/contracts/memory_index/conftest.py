"""The engines, each as an empty index. Every test of these folders runs on all; where there is no Java, OpenSearch's are
skipped.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hibernaut.adapters.memory_index.opensearch import OpenSearchMemoryIndex
from hibernaut.adapters.memory_index.opensearch_client import connected
from hibernaut.adapters.memory_index.opensearch_collection import CollectionDialect
from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex
from hibernaut.ports.memory.memory_index import MemoryIndex
from tests.support.late_index import LateMemoryIndex
from tests.support.opensearch import OpenSearchNode, opensearch_node, over_domain
from tests.support.serverless_collection import ServerlessCollection, serverless_collection

__all__ = ["opensearch_node"]

ENGINES = ("sqlite", "late", "opensearch", "serverless")
_PREFIXES = itertools.count(1)


@pytest.fixture
def new_opensearch(opensearch_node: OpenSearchNode) -> Iterator[Callable[[], OpenSearchMemoryIndex]]:
    """Makes indices whose prefixes nobody else has; one call's share their spaces with no other's."""
    made: list[OpenSearchMemoryIndex] = []

    def make() -> OpenSearchMemoryIndex:
        index = over_domain(connected(opensearch_node.address, seconds=60), prefix=f"test{next(_PREFIXES)}")
        made.append(index)
        return index

    yield make
    for index in made:
        for space in index.spaces():
            index.drop(space)
        index.close()


@pytest.fixture
def collection(opensearch_node: OpenSearchNode) -> Iterator[ServerlessCollection]:
    """A collection that shows at once what is written."""
    with serverless_collection(opensearch_node.address) as serving:
        yield serving


@pytest.fixture
def new_serverless(collection: ServerlessCollection) -> Iterator[Callable[[], OpenSearchMemoryIndex]]:
    """As `new_opensearch`, in the collection."""
    made: list[OpenSearchMemoryIndex] = []

    def make() -> OpenSearchMemoryIndex:
        client = connected(collection.address, seconds=60)
        index = OpenSearchMemoryIndex(client, prefix=f"served{next(_PREFIXES)}", dialect=CollectionDialect(client))
        made.append(index)
        return index

    yield make
    collection.asleep, collection.held = False, None
    for index in made:
        for space in index.spaces():
            index.drop(space)
        index.close()


@dataclass(frozen=True, slots=True)
class Late:
    """An index that shows what was written when the test says so."""

    index: MemoryIndex
    refresh: Callable[[], None]


@pytest.fixture(params=["late", "serverless"])
def late(request: pytest.FixtureRequest) -> Iterator[Late]:
    if request.param == "serverless":
        collection: ServerlessCollection = request.getfixturevalue("collection")
        collection.at_once = False
        yield Late(request.getfixturevalue("new_serverless")(), collection.refresh)
        return
    index = LateMemoryIndex()
    yield Late(index, index.refresh)
    index.close()


@pytest.fixture(params=ENGINES)
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryIndex]:
    if request.param in ("opensearch", "serverless"):
        yield request.getfixturevalue(f"new_{request.param}")()
        return
    made = SqliteMemoryIndex(tmp_path / "memory.db") if request.param == "sqlite" else LateMemoryIndex(at_once=True)
    yield made
    made.close()
