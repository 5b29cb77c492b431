"""Queries and texts are embedded once while they are remembered."""

from __future__ import annotations

import pytest

from hibernaut.adapters.embedder.cached import CachedEmbedder
from hibernaut.ports.memory.embedder import EmbedderFailed
from tests.support.hashing_embedder import HashingEmbedder


def test_a_query_that_is_asked_again_is_not_embedded_again() -> None:
    inner = HashingEmbedder()
    cached = CachedEmbedder(inner)
    assert cached.embed(["one"], query=True) == cached.embed(["one"], query=True) == inner.embed(["one"])
    assert inner.embedded == ["one", "one"]  # the second by this test itself


def test_of_many_queries_the_new_ones_are_embedded_each_once() -> None:
    inner = HashingEmbedder()
    cached = CachedEmbedder(inner)
    cached.embed(["one"], query=True)
    found = cached.embed(["two", "one", "two", "three"], query=True)
    assert inner.embedded == ["one", "two", "three"]
    assert found == HashingEmbedder().embed(["two", "one", "two", "three"])


def test_texts_are_remembered_apart_from_queries() -> None:
    inner = HashingEmbedder()
    cached = CachedEmbedder(inner)
    for _ in range(2):
        cached.embed(["one"])
    cached.embed(["one"], query=True)
    assert inner.embedded == ["one"] * 2


def test_many_texts_do_not_drive_queries_out() -> None:
    inner = HashingEmbedder()
    cached = CachedEmbedder(inner, most=2, most_texts=2)
    cached.embed(["one"], query=True)
    cached.embed([f"text {number}" for number in range(10)])
    inner.embedded.clear()
    cached.embed(["one"], query=True)
    cached.embed(["text 8", "text 9", "text 0"])
    assert inner.embedded == ["text 0"]


def test_what_is_known_is_what_was_embedded_as_a_text() -> None:
    inner = HashingEmbedder()
    cached = CachedEmbedder(inner)
    cached.embed(["query"], query=True)
    [vector] = cached.embed(["one"])
    assert cached.known(["two", "one", "query"]) == [None, vector, None]
    assert inner.embedded == ["query", "one"]


def test_what_is_known_and_asked_for_is_forgotten_last() -> None:
    cached = CachedEmbedder(HashingEmbedder(), most_texts=2)
    cached.embed(["one", "two"])
    cached.known(["one"])
    cached.embed(["three"])
    assert [vector is not None for vector in cached.known(["one", "two", "three"])] == [True, False, True]


def test_the_query_not_asked_for_longest_is_forgotten_first() -> None:
    inner = HashingEmbedder()
    cached = CachedEmbedder(inner, most=2)
    for query in ("one", "two", "one", "three", "one", "two"):
        cached.embed([query], query=True)
    assert inner.embedded == ["one", "two", "three", "two"]


def test_a_failure_is_not_remembered() -> None:
    inner = HashingEmbedder(refuses=EmbedderFailed("away", retryable=True))
    cached = CachedEmbedder(inner)
    with pytest.raises(EmbedderFailed):
        cached.embed(["one"], query=True)
    inner.refuses = None
    assert cached.embed(["one"], query=True) == inner.embed(["one"])


def test_a_long_query_is_kept_by_its_sum_only() -> None:
    cached = CachedEmbedder(HashingEmbedder())
    cached.embed(["x" * 1_000_000], query=True)
    assert [len(key) for key in cached._vectors[True]] == [32]
