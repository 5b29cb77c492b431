"""The benchmark's corpus, searched on SQLite with the embedder of this machine: what `benchmarks/retrieval` measures may not get worse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.retrieval.corpus import KINDS, memories, questions, unseen
from benchmarks.retrieval.measure import AT, Archived, Ranks, archived, by_substring, recall
from hibernaut.adapters.embedder import minilm_files
from hibernaut.adapters.embedder.catalogue import EmbedderCatalogue
from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex
from hibernaut.adapters.secrets.environment import EnvironmentSecrets


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archived]:
    if not minilm_files.installed():
        pytest.skip("the weights of MiniLM are not installed")
    folder: Path = tmp_path_factory.mktemp("retrieval")
    index = SqliteMemoryIndex(folder / "index.db")
    made = archived(folder, index, EmbedderCatalogue(EnvironmentSecrets({})))
    yield made
    made.table.close()
    index.close()


def test_every_question_has_its_answer_in_the_corpus_once() -> None:
    assert len(set(memories())) == len(memories())
    assert {question.kind for question in questions()} == set(KINDS)
    assert len(questions()) >= 100
    size = Path(__file__).parents[4] / "benchmarks" / "retrieval" / "questions.tsv"
    assert size.stat().st_size < 200_000


def test_hybrid_search_finds_no_less_than_each_of_its_parts(corpus: Archived) -> None:
    words, meaning, hybrid = (corpus.ranks(questions(), mode) for mode in ("fts", "vector", "hybrid"))
    for at in AT:
        assert recall(hybrid, at) >= max(recall(words, at), recall(meaning, at)), at
        assert recall(hybrid, at) > recall(by_substring(questions()), at) + 50


def test_of_what_was_held_out_hybrid_search_finds_no_less_among_the_first_five_and_ten(corpus: Archived) -> None:
    words, meaning, hybrid = (corpus.ranks(unseen(), mode) for mode in ("fts", "vector", "hybrid"))
    for at in (5, 10):
        assert recall(hybrid, at) >= max(recall(words, at), recall(meaning, at)), at


def test_hybrid_search_finds_nine_of_ten(corpus: Archived) -> None:
    ranks: Ranks = corpus.ranks(questions(), "hybrid")
    assert recall(ranks, 10) >= 90
    assert recall(ranks, 10, lambda question: question.kind != "meaning") >= 99
