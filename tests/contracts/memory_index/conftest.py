"""The engines, each as an empty index. Every test of these folders runs on both; where there is no Java, OpenSearch's are skipped."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hibernaut.adapters.memory_index.opensearch import OpenSearchMemoryIndex
from hibernaut.adapters.memory_index.opensearch_client import connected
from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex
from hibernaut.ports.memory_index import MemoryIndex
from tests.support.opensearch import OpenSearchNode, opensearch_node

__all__ = ["opensearch_node"]

ENGINES = ("sqlite", "opensearch")
_PREFIXES = itertools.count(1)


@pytest.fixture
def new_opensearch(opensearch_node: OpenSearchNode) -> Iterator[Callable[[], OpenSearchMemoryIndex]]:
    """Makes indices whose prefixes nobody else has; one call's share their spaces with no other's."""
    made: list[OpenSearchMemoryIndex] = []

    def make() -> OpenSearchMemoryIndex:
        index = OpenSearchMemoryIndex(connected(opensearch_node.address, seconds=60), prefix=f"test{next(_PREFIXES)}")
        made.append(index)
        return index

    yield make
    for index in made:
        for space in index.spaces():
            index.drop(space)
        index.close()


@pytest.fixture(params=ENGINES)
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryIndex]:
    if request.param == "opensearch":
        yield request.getfixturevalue("new_opensearch")()
        return
    sqlite = SqliteMemoryIndex(tmp_path / "memory.db")
    yield sqlite
    sqlite.close()
