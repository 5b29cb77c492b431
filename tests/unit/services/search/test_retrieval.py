"""The benchmark's own corpora, searched on SQLite with the embedder of this machine: what `benchmarks/retrieval` measures may not
get worse.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.retrieval import dialogue, memories
from benchmarks.retrieval.corpora import Corpus, Places, recall
from benchmarks.retrieval.measure import Archived, OfProcess, Remembering, archived
from hibernaut.adapters.embedder import minilm_files
from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex

CORPORA = [*memories.corpora(), *dialogue.corpora()]
A_LITTLE = 4.0
"""Percent: the weight is one for all corpora, and where nobody uses a text's words, words cost up to three questions of 76."""


WAYS = ("fts", "vector", "hybrid", "ranks", "walked")
Found = dict[tuple[str, str], Places]
"""What each way to search found, by the corpus' name and the way."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    if not minilm_files.installed():
        pytest.skip("the weights of MiniLM are not installed")
    result: Found = {}
    embedders = Remembering()
    for number, texts in enumerate(dict.fromkeys(corpus.texts for corpus in CORPORA)):
        folder = tmp_path_factory.mktemp(f"retrieval-{number}")
        index = SqliteMemoryIndex(folder / "index.db")
        archive = archived(folder, index, embedders, texts)
        for corpus in (each for each in CORPORA if each.texts == texts):
            result |= {(corpus.name, way): searched(archive, corpus, way) for way in WAYS}
        archive.table.close()
        index.close()
    return result


def searched(archive: Archived, corpus: Corpus, way: str) -> Places:
    match way:
        case "ranks":
            return archive.fused_by_ranks(corpus.questions)
        case "walked":
            return archive.found_without_index(corpus.questions)
        case _:
            return archive.found(corpus.questions, way)  # type: ignore[arg-type]


@pytest.mark.parametrize("corpus", CORPORA, ids=lambda corpus: corpus.name)
def test_every_question_has_its_answers_in_the_corpus(corpus: Corpus) -> None:
    assert all(0 <= place < len(corpus.texts) for question in corpus.questions for place in question.answers)
    assert all(question.answers for question in corpus.questions)
    assert len({question.text for question in corpus.questions}) == len(corpus.questions) >= 70


@pytest.mark.parametrize("corpus", CORPORA, ids=lambda corpus: corpus.name)
def test_hybrid_search_finds_as_much_as_the_better_of_its_halves(found: Found, corpus: Corpus) -> None:
    for at in (1, 5, 10):
        words, meaning, hybrid = (recall(corpus, found[corpus.name, way], at) for way in ("fts", "vector", "hybrid"))
        assert hybrid >= max(words, meaning) - A_LITTLE, at


def test_over_all_corpora_hybrid_search_finds_more_than_either_half_and_than_reciprocal_ranks(found: Found) -> None:
    def mean(way: str, at: int) -> float:
        return sum(recall(corpus, found[corpus.name, way], at) for corpus in CORPORA) / len(CORPORA)

    for at in (1, 5, 10):
        assert mean("hybrid", at) > max(mean("fts", at), mean("vector", at), mean("ranks", at)), at


@pytest.mark.parametrize("corpus", CORPORA, ids=lambda corpus: corpus.name)
def test_without_an_index_words_find_as_much_as_the_index_does(found: Found, corpus: Corpus) -> None:
    for at in (1, 5, 10):
        assert abs(recall(corpus, found[corpus.name, "walked"], at) - recall(corpus, found[corpus.name, "fts"], at)) <= 2.0, at


def test_a_first_search_finds_what_waits_as_well_as_what_is_indexed(found: Found, tmp_path: Path) -> None:
    """Half of these questions share no word with their answer, which waits, and nothing that waits has a vector."""
    corpus = memories.corpora()[1]
    waiting = range(len(corpus.texts) // 2, 3 * len(corpus.texts) // 4)
    asked = Corpus(
        corpus.name, corpus.texts, tuple(each for each in corpus.questions if set(each.answers).issubset(set(waiting)))
    )
    assert len(asked.questions) >= 50
    with closing(SqliteMemoryIndex(tmp_path / "index.db")) as index:
        archive = archived(tmp_path, index, OfProcess(Remembering(), searches=False), corpus.texts, waiting=waiting)
        first = archive.found(asked.questions, "hybrid")
        archive.table.close()
    for at in (5, 10):
        assert recall(asked, first, at) >= recall(asked, found[corpus.name, "hybrid"], at) - 4.0, at
