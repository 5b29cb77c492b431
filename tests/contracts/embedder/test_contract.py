"""What every embedder promises (port `Embedder`)."""

from __future__ import annotations

import math
import re
import threading

import pytest

from hibernaut.ports.memory.embedder import Embedder, Vector

SENTENCES = [f"The {number}th traveller left the harbour before the ferry came in." for number in range(40)]


def cosine(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def near(one: list[Vector], other: list[Vector]) -> bool:
    return len(one) == len(other) and all(cosine(a, b) > 1 - 1e-6 for a, b in zip(one, other, strict=True))


def test_vectors_have_length_one_and_the_dimension_that_is_said(embedder: Embedder) -> None:
    for vector in embedder.embed(SENTENCES[:5]):
        assert len(vector) == embedder.dimension
        assert math.hypot(*vector) == pytest.approx(1, abs=1e-5)
        assert type(vector) is tuple
        assert {type(number) for number in vector} == {float}


def test_the_name_of_the_space_can_be_part_of_an_indexs_name(embedder: Embedder) -> None:
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,99}", embedder.space)
    assert embedder.space.endswith(f"-{embedder.dimension}")


def test_a_text_has_the_same_vector_again_in_any_company_and_as_a_query(embedder: Embedder) -> None:
    alone = [embedder.embed([text])[0] for text in SENTENCES]
    assert near(alone, embedder.embed(SENTENCES))
    assert near(alone[::-1], embedder.embed(SENTENCES[::-1]))


def test_what_is_known_of_a_text_is_its_vector(embedder: Embedder) -> None:
    vectors = embedder.embed(["a harbour", "\ud800"])
    for known, vector in zip(embedder.known(["a harbour", "\ud800"]), vectors, strict=True):
        assert known in (None, vector)
    assert embedder.known(["never embedded"]) == [None]
    assert embedder.known([]) == []


def test_different_texts_have_different_vectors(embedder: Embedder) -> None:
    one, other = embedder.embed(["ferries in the harbour", "compound interest"])
    assert cosine(one, other) < 0.9


def test_nothing_to_embed_is_nothing(embedder: Embedder) -> None:
    assert embedder.embed([]) == embedder.embed([], query=True) == []


def test_an_estimate_is_one_number_for_each_text_whatever_it_is(embedder: Embedder) -> None:
    texts = ["a harbour", "", "\0", "\ud800 half", "中文 漢字", "?!…", "word " * 50_000, "a harbour"]
    for query in ("a port", "", "\ud800", "never seen" * 1_000):
        estimates = embedder.likeness(query, texts)
        assert estimates is None or (
            [type(each) for each in estimates] == [float] * len(texts) and all(map(math.isfinite, estimates))
        )
        assert embedder.likeness(query, []) in (None, [])


@pytest.mark.parametrize("text", ["", "   \n\t ", "\0", "?!…", "🎉👩‍👩‍👧", "\ud800 half", "中文 漢字", "ﷺ" * 50, "e\u0301" * 80])
def test_any_text_has_a_vector(embedder: Embedder, text: str) -> None:
    vectors = embedder.embed([text, "ordinary words"])
    assert [len(vector) for vector in vectors] == [embedder.dimension] * 2
    assert all(math.hypot(*vector) == pytest.approx(1, abs=1e-5) for vector in vectors)
    assert embedder.count(text) >= 0


def test_of_a_text_of_a_megabyte_the_beginning_counts(embedder: Embedder) -> None:
    text = "many words stand here " * 50_000
    assert near(embedder.embed([text]), embedder.embed([text + "and end otherwise"]))


@pytest.mark.parametrize("text", ["x" * 1_000_000, " " * 1_000_000, "é" * 1_000_000, "\0" * 1_000_000])
def test_a_megabyte_without_words_has_a_vector(embedder: Embedder, text: str) -> None:
    assert len(embedder.embed([text])[0]) == embedder.dimension


def test_counts_grow_with_the_text_and_begin_at_nothing(embedder: Embedder) -> None:
    assert embedder.count("") == 0
    counts = [embedder.count("some words " * times) for times in (1, 10, 100)]
    assert counts == sorted(set(counts))
    assert embedder.max_tokens > 100
    assert embedder.batch >= 1


def test_queries_are_embedded_like_texts(embedder: Embedder) -> None:
    vectors = embedder.embed(SENTENCES[:3], query=True)
    assert near(vectors, embedder.embed(SENTENCES[:3], query=True))
    assert near(vectors, [embedder.embed([text], query=True)[0] for text in SENTENCES[:3]])


def test_threads_embed_side_by_side_and_get_their_own_vectors(embedder: Embedder) -> None:
    expected = embedder.embed(SENTENCES)
    begin = threading.Barrier(4)
    found: dict[int, list[Vector]] = {}

    def embeds(number: int) -> None:
        begin.wait()
        found[number] = embedder.embed(SENTENCES[number * 10 : number * 10 + 10])

    threads = [threading.Thread(target=embeds, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert near(expected, [vector for number in range(4) for vector in found[number]])
