"""The benchmark's own corpora, searched on SQLite with the embedder of this machine: what `benchmarks/retrieval` measures may not get worse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.retrieval import dialogue, memories
from benchmarks.retrieval.corpora import Corpus, recall
from benchmarks.retrieval.measure import Archived, Remembering, archived
from hibernaut.adapters.embedder import minilm_files
from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex

CORPORA = [*memories.corpora(), *dialogue.corpora()]
A_LITTLE = 4.0
"""Percent: the weight is one for all corpora, and where nobody uses a text's words, words cost up to three questions of 76."""


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[tuple[str, ...], Archived]]:
    if not minilm_files.installed():
        pytest.skip("the weights of MiniLM are not installed")
    made: dict[tuple[str, ...], Archived] = {}
    indexes, embedders = [], Remembering()
    for number, texts in enumerate(dict.fromkeys(corpus.texts for corpus in CORPORA)):
        folder: Path = tmp_path_factory.mktemp(f"retrieval-{number}")
        indexes.append(SqliteMemoryIndex(folder / "index.db"))
        made[texts] = archived(folder, indexes[-1], embedders, texts)
    yield made
    for each in made.values():
        each.table.close()
    for index in indexes:
        index.close()


@pytest.mark.parametrize("corpus", CORPORA, ids=lambda corpus: corpus.name)
def test_every_question_has_its_answers_in_the_corpus(corpus: Corpus) -> None:
    assert all(0 <= place < len(corpus.texts) for question in corpus.questions for place in question.answers)
    assert all(question.answers for question in corpus.questions)
    assert len({question.text for question in corpus.questions}) == len(corpus.questions) >= 70


@pytest.mark.parametrize("corpus", CORPORA, ids=lambda corpus: corpus.name)
def test_hybrid_search_finds_as_much_as_the_better_of_its_halves(
    searched: dict[tuple[str, ...], Archived], corpus: Corpus
) -> None:
    modes = ("fts", "vector", "hybrid")
    words, meaning, hybrid = (searched[corpus.texts].found(corpus.questions, mode) for mode in modes)  # type: ignore[arg-type]
    for at in (1, 5, 10):
        better = max(recall(corpus, words, at), recall(corpus, meaning, at))
        assert recall(corpus, hybrid, at) >= better - A_LITTLE, at


def test_over_all_corpora_hybrid_search_finds_more_than_either_half_and_than_reciprocal_ranks(
    searched: dict[tuple[str, ...], Archived],
) -> None:
    def mean(way: str, at: int) -> float:
        found = []
        for corpus in CORPORA:
            archive = searched[corpus.texts]
            places = archive.fused_by_ranks(corpus.questions) if way == "ranks" else archive.found(corpus.questions, way)  # type: ignore[arg-type]
            found.append(recall(corpus, places, at))
        return sum(found) / len(found)

    for at in (1, 5, 10):
        assert mean("hybrid", at) > max(mean("fts", at), mean("vector", at), mean("ranks", at)), at


@pytest.mark.parametrize("corpus", CORPORA, ids=lambda corpus: corpus.name)
def test_without_an_index_words_find_as_much_as_the_index_does(searched: dict[tuple[str, ...], Archived], corpus: Corpus) -> None:
    archive = searched[corpus.texts]
    indexed, walked = archive.found(corpus.questions, "fts"), archive.found_without_index(corpus.questions)
    for at in (1, 5, 10):
        assert abs(recall(corpus, walked, at) - recall(corpus, indexed, at)) <= 2.0, at
