"""A node that dies and comes back. It is a node of its own, so this file runs beside `test_index`."""

from __future__ import annotations

import pytest

from hibernaut.adapters.memory_index.opensearch_client import connected
from hibernaut.ports.memory.memory_index import IndexAsleep
from tests.contracts.memory_index.documents import EAST, SPACE, by_words, document, held
from tests.support.opensearch import OpenSearchNode, over_domain, require


def test_a_node_that_is_killed_is_asleep_and_comes_back_with_what_it_held() -> None:
    require()
    node = OpenSearchNode()
    node.start()
    index = over_domain(connected(node.address), prefix="killed")
    index.put(SPACE, [document("one", "tea", EAST)])
    node.kill()
    for ask in (lambda: by_words(index, "tea"), lambda: index.put(SPACE, [document("two")]), lambda: held(index), index.spaces):
        with pytest.raises(IndexAsleep):
            ask()
    node.start()
    assert by_words(index, "tea") == ["one"]
    index.close()
    node.close()
