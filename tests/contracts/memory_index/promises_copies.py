"""What a collection adds to the port's promises: copies that are seen late. Collected by `test_index`, the one file that starts
OpenSearch.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable

import pytest

from hibernaut.adapters.memory_index.opensearch import OpenSearchMemoryIndex
from hibernaut.adapters.memory_index.opensearch_client import connected
from hibernaut.adapters.memory_index.opensearch_collection import CollectionDialect
from hibernaut.ports.memory.memory_index import IndexAsleep
from tests.contracts.memory_index.conftest import Late
from tests.contracts.memory_index.documents import EAST, NORTH, SPACE, by_vector, by_words, document, held, query, tombstone
from tests.support.opensearch import OpenSearchNode
from tests.support.serverless_collection import ServerlessCollection, serverless_collection

NewIndex = Callable[[], OpenSearchMemoryIndex]


def beside(collection: ServerlessCollection, index: OpenSearchMemoryIndex, seconds: float = 60) -> OpenSearchMemoryIndex:
    client = connected(collection.address, seconds=seconds)
    return OpenSearchMemoryIndex(client, prefix=index.prefix, dialect=CollectionDialect(client))


def test_what_is_written_is_found_when_the_refresh_interval_is_over(late: Late) -> None:
    assert len(late.index.put(SPACE, [document("one", "tea", EAST), document("two", "tea", NORTH)])) == 2
    assert (by_words(late.index, "tea"), by_vector(late.index, EAST), held(late.index)) == ([], [], [])
    late.refresh()
    assert (by_words(late.index, "tea"), by_vector(late.index, EAST)) == (["one", "two"], ["one", "two"])
    late.index.remove(SPACE, [tombstone("one")])
    assert by_words(late.index, "tea") == ["one", "two"]
    late.refresh()
    assert (by_words(late.index, "tea"), by_vector(late.index, EAST), held(late.index)) == (["two"], ["two"], [("two", 1, True)])


def test_a_copy_is_discarded_before_it_is_seen(late: Late) -> None:
    one, _ = late.index.put(SPACE, [document("one", "tea", EAST), document("two", "tea", EAST)])
    late.index.remove(SPACE, [tombstone("two")])  # finds nothing yet
    for _ in range(2):
        late.index.discard(SPACE, [one, "never"])
    late.refresh()
    assert held(late.index) == [("two", 1, True)]
    late.index.discard("nowhere", [one])
    assert late.index.spaces() == [SPACE]


def test_of_several_copies_the_newest_is_found_and_the_others_are_collected(late: Late) -> None:
    late.index.put(SPACE, [document("one", "tea"), document("two", "tea"), document("two", "tea", tenant="else")])
    late.index.put(SPACE, [document("one", "tea", EAST, version=2), document("two", "tea")])
    late.index.put(SPACE, [document("one", "tea")])  # an old delivery
    late.refresh()
    found = late.index.search(SPACE, query("tea", EAST))
    assert [(hit.id, hit.embedded) for hit in found.lexical] == [("one", True), ("two", False)]
    assert [hit.id for hit in found.vector] == ["one"]
    assert held(late.index) == [("one", 2, True), ("two", 1, False)]
    assert late.index.collect(SPACE, "home") == 3
    late.refresh()
    assert late.index.collect(SPACE, "home") == late.index.collect("nowhere", "home") == 0
    assert late.index.search(SPACE, query("tea", EAST)).counts.texts == 2
    assert held(late.index, "else") == [("two", 1, False)]


def test_copies_push_no_document_out_of_the_hits(late: Late) -> None:
    for _ in range(2):
        late.index.put(SPACE, [document(f"near {number}", "tea", EAST) for number in range(5)])
    late.index.put(SPACE, [document("far", "tea with much else", (0.9, 0.1, 0.0, 0.0))])
    late.refresh()
    for found in (by_words(late.index, "tea", limit=6), by_vector(late.index, EAST, limit=6)):
        assert set(found) == {"far", *(f"near {number}" for number in range(5))}
        assert found[-1] == "far"


def test_a_removal_takes_every_copy_but_a_newer_one(late: Late) -> None:
    late.index.put(SPACE, [document("one", version=1), document("one", version=2), document("one", version=3)])
    late.index.put(SPACE, [document("one", tenant="else")])
    late.refresh()
    late.index.remove(SPACE, [tombstone("one", 2)])
    late.refresh()
    assert held(late.index) == [("one", 3, False)]
    assert late.index.collect(SPACE, "home") == 0
    assert held(late.index, "else") == [("one", 1, False)]


def test_what_sleeps_is_said_to_sleep_and_is_woken(collection: ServerlessCollection, new_serverless: NewIndex) -> None:
    late = new_serverless()
    late.put(SPACE, [document("one", "tea", EAST)])
    collection.asleep = True
    asks = (
        lambda: by_words(late, "tea"),
        lambda: late.put(SPACE, [document("two")]),
        lambda: late.remove(SPACE, [tombstone("one")]),
        lambda: late.discard(SPACE, ["one"]),
        lambda: late.collect(SPACE, "home"),
        late.spaces,
        late.wake,
    )
    for ask in asks:
        with pytest.raises(IndexAsleep):
            ask()
    collection.asleep = False
    late.wake()
    assert by_words(late, "tea") == ["one"]
    impatient, collection.held = beside(collection, late, seconds=0.05), threading.Event()
    with pytest.raises(IndexAsleep):
        impatient.spaces()
    collection.held.set()
    impatient.close()


def test_what_was_dropped_is_made_again_whatever_another_process_remembers(
    collection: ServerlessCollection, new_serverless: NewIndex
) -> None:
    """A collection makes the index of a write itself, in a design of its own, which no search of ours understands."""
    late = new_serverless()
    other = beside(collection, late)
    other.put(SPACE, [document("one", "tea", EAST)])
    late.drop(SPACE)
    other.put(SPACE, [document("one", "tea", EAST)])
    assert (late.spaces(), by_vector(late, EAST), by_words(late, "tea")) == ([SPACE], ["one"], ["one"])
    late.drop(SPACE)
    late.put(SPACE, [document("two", "tea")])  # an index without vectors, which the other process does not know of
    other.put(SPACE, [document("three", "tea"), document("one", "tea", EAST)])
    assert by_vector(late, EAST) == ["one"]
    assert late.collect(SPACE, "home") == 0
    assert [name for name, _, _ in held(late)] == ["one", "three", "two"]
    other.close()


def test_where_a_write_fails_nothing_of_it_stays(collection: ServerlessCollection, new_serverless: NewIndex) -> None:
    """The node stands for a collection that is full for one line of a request, and only for that."""
    late = new_serverless()
    late.put(SPACE, [document("one", "tea", EAST)])
    passed, full = collection.passed, {"type": "rejected_execution_exception", "reason": "full"}

    def half(method: str, path: str, body: bytes) -> tuple[int, bytes]:
        status, answer = passed(method, path, body)
        if path.endswith("_bulk") and body.count(b'"index"') == 2:
            items = json.loads(answer)
            late.discard(SPACE, [items["items"][1]["index"]["_id"]])
            items["items"][1]["index"] = {"status": 429, "error": full}
            return status, json.dumps(items).encode()
        return status, answer

    collection.passed = half  # type: ignore[method-assign]
    with pytest.raises(IndexAsleep, match="full"):
        late.put(SPACE, [document("two", "tea"), document("three", "tea")])
    assert held(late) == [("one", 1, True)]


def test_a_collection_takes_every_request_signed(opensearch_node: OpenSearchNode, new_serverless: NewIndex) -> None:
    """A request that is not signed as it must be, or not at all, is refused."""
    prefix = new_serverless().prefix
    with serverless_collection(opensearch_node.address, signed=True) as strict:
        for service, refused in (("aoss", False), ("es", True)):
            client = connected(strict.address, region="eu-central-1", service=service)
            index = OpenSearchMemoryIndex(client, prefix=prefix, dialect=CollectionDialect(client))
            if refused:
                with pytest.raises(IndexAsleep, match="security_exception"):
                    index.put(SPACE, [document("one", "tea", EAST)])
            else:
                index.put(SPACE, [document("one", "tea", EAST)])
                assert by_vector(index, EAST) == ["one"]
                index.drop(SPACE)
            index.close()
