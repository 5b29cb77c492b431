"""What the port promises of versions. Collected by `test_index`, the one file that starts OpenSearch."""

from __future__ import annotations

import pytest

from hibernaut.ports.memory.memory_index import MemoryIndex
from tests.contracts.memory_index.documents import EAST, NORTH, SPACE, by_vector, by_words, document, held, query, tombstone

OVERWRITING = pytest.mark.parametrize("index", ["sqlite", "opensearch"], indirect=True)
"""The engines that overwrite a document by its id, and refuse what is not newer."""


@OVERWRITING
def test_a_newer_version_replaces_all_of_an_older(index: MemoryIndex) -> None:
    index.put(SPACE, [document("one", "tea", EAST, tags=("old",), place="here", version=1)])
    index.put(SPACE, [document("one", "coffee", NORTH, tags=("new",), place="archive", version=2)])
    assert by_words(index, "tea") == by_words(index, "coffee", tags=("old",)) == by_words(index, "coffee", places=("here",)) == []
    assert by_words(index, "coffee", tags=("new",)) == ["one"]
    found = index.search(SPACE, query(vector=NORTH)).vector
    assert [hit.id for hit in found] == ["one"]
    assert found[0].score == pytest.approx(1.0, abs=1e-5)
    assert held(index) == [("one", 2, True)]


@OVERWRITING
@pytest.mark.parametrize("version", [1, 2])
def test_an_older_or_equal_version_changes_nothing(index: MemoryIndex, version: int) -> None:
    index.put(SPACE, [document("one", "coffee", EAST, version=2)])
    index.put(SPACE, [document("one", "tea", NORTH, version=version), document("two", "milk", NORTH)])
    assert (by_words(index, "tea"), by_words(index, "coffee"), by_words(index, "milk")) == ([], ["one"], ["two"])
    assert held(index) == [("one", 2, True), ("two", 1, True)]


def test_the_highest_of_versions_put_at_once_stays(index: MemoryIndex) -> None:
    index.put(SPACE, [document("one", f"fact{version}", version=version) for version in (2, 3, 1)])
    assert held(index) == [("one", 3, False)]
    assert by_words(index, "fact3") == ["one"]


@OVERWRITING
def test_a_vector_may_be_taken_away(index: MemoryIndex) -> None:
    index.put(SPACE, [document("one", "tea", EAST), document("two", "tea", NORTH)])
    assert by_vector(index, EAST) == ["one", "two"]
    index.put(SPACE, [document("one", "tea", version=2)])
    assert by_vector(index, EAST) == ["two"]


@OVERWRITING
def test_what_was_removed_is_not_found_and_does_not_come_back_in_the_same_or_an_older_version(index: MemoryIndex) -> None:
    index.put(SPACE, [document("one", "tea", EAST, version=2), document("two", "tea", NORTH)])
    assert by_vector(index, EAST) == ["one", "two"]
    index.remove(SPACE, [tombstone("one", 2)])
    index.put(SPACE, [document("one", "tea", EAST, version=1), document("one", "tea", EAST, version=2)])
    assert (by_words(index, "tea"), by_vector(index, EAST)) == (["two"], ["two"])
    assert held(index) == [("two", 1, True)]
    index.put(SPACE, [document("one", "tea", EAST, version=3)])
    assert by_vector(index, EAST) == ["one", "two"]


@OVERWRITING
def test_a_tombstone_before_its_document_holds(index: MemoryIndex) -> None:
    index.remove(SPACE, [tombstone("one", 5)])
    index.put(SPACE, [document("one", version=4), document("one", version=5)])
    assert held(index) == []
    index.remove(SPACE, [tombstone("one", 3)])
    index.put(SPACE, [document("one", version=4)])
    assert held(index) == []


def test_an_old_tombstone_takes_no_newer_document_away(index: MemoryIndex) -> None:
    index.put(SPACE, [document("one", version=3)])
    index.remove(SPACE, [tombstone("one", 2)])
    assert held(index) == [("one", 3, False)]


def test_hits_of_both_lists_name_the_document_before_them(index: MemoryIndex) -> None:
    index.put(SPACE, [document("one", "tea", EAST), document("two", "tea for two", EAST, before="one")])
    found = index.search(SPACE, query("tea", EAST))
    for hits in (found.lexical, found.vector):
        assert {hit.id: hit.before for hit in hits} == {"one": "", "two": "one"}
    index.put(SPACE, [document("two", "tea for two", EAST, before="another", version=2)])
    index.remove(SPACE, [tombstone("one")])
    found = index.search(SPACE, query("tea", EAST))
    for hits in (found.lexical, found.vector):
        assert {hit.id: hit.before for hit in hits} == {"two": "another"}
