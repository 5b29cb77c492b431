"""A text's vector holds a little of what stands before it: in an archive, in a file, and in a log, across writings and
batches.
"""

from __future__ import annotations

import math
import random
from operator import mul
from pathlib import Path

import pytest

from hibernaut.domain.search import index_documents
from hibernaut.domain.search.index_documents import OF_WHAT_STANDS_BEFORE, cosine_in_context, in_context, of_passage
from hibernaut.schemas.memory.passage import Passage
from hibernaut.schemas.memory.search_index import IndexQuery
from hibernaut.services.search import indexing
from hibernaut.services.search.hybrid_search import SearchScope
from tests.support.clocks import ManualClock
from tests.support.hashing_embedder import HashingEmbedder
from tests.support.memories import ARCHIVE, FILE, FOLDER, TENANT, Kind, Memories, memories


def cosine(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    return sum(map(mul, one, other)) / math.hypot(*one) / math.hypot(*other)


def test_a_vector_in_context_has_unit_norm_and_is_nearest_to_its_own_text() -> None:
    passage = Passage(id="passage-1", text="x", created_at=ManualClock().now())
    document = of_passage("t", "archive-1", "archive-1", passage).model_copy(update={"vector": (1.0, 0.0)})
    mixed = in_context(document, (0.0, 1.0)).vector
    assert mixed == pytest.approx(
        (1 / math.hypot(1, OF_WHAT_STANDS_BEFORE), OF_WHAT_STANDS_BEFORE / math.hypot(1, OF_WHAT_STANDS_BEFORE))
    )
    assert in_context(document, None) == document
    assert in_context(document.model_copy(update={"vector": None}), (0.0, 1.0)).vector is None


@pytest.mark.parametrize("kind", ["passage", "file"])
@pytest.mark.parametrize("at_once", [1, 2, 32])
def test_the_order_of_texts_decides_what_stands_before_however_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind, at_once: int
) -> None:
    monkeypatch.setattr(indexing, "EMBEDDED_AT_ONCE", at_once)
    memory = memories(tmp_path)
    texts = ["which ferry sails", "the blue one at noon", "who told you", "a man in the harbour"]
    memory.write(kind, *texts[:1])
    memory.worker().drain()
    memory.write(kind, *texts[1:])
    memory.worker().drain()
    own = HashingEmbedder().embed(texts)
    found = memory.search.passages(SearchScope(kind, (ARCHIVE if kind == "passage" else FOLDER,)), texts[0], mode="vector").hits
    assert {hit.record.text for hit in found} == set(texts)
    query = own[0]
    plain = {text: cosine(query, vector) for text, vector in zip(texts, own, strict=True)}
    coloured = {
        text: cosine(query, mixed(vector, before)) for text, vector, before in zip(texts, own, [None, *own[:-1]], strict=True)
    }
    assert [hit.record.text for hit in found][:2] == sorted(texts, key=lambda text: -coloured[text])[:2] == texts[:2]
    assert coloured[texts[1]] > plain[texts[1]] + 0.1
    memory.close()


@pytest.mark.parametrize("kind", ["passage", "file"])
@pytest.mark.parametrize("at_once", [1, 2, 32])
def test_each_document_names_the_one_before_it_however_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind, at_once: int
) -> None:
    monkeypatch.setattr(indexing, "EMBEDDED_AT_ONCE", at_once)
    memory = memories(tmp_path)
    texts = ("a ferry", "a ferry", "a ferry at noon", "a ferry at night", "the last ferry")
    ids = memory.write(kind, *texts[:1])
    memory.worker().drain()
    ids += memory.write(kind, *texts[1:3])
    ids += memory.write(kind, *texts[3:])
    memory.worker().drain()
    container = ARCHIVE if kind == "passage" else FILE
    names = [f"{container}/{one}" for one in ids]
    assert named(memory, kind) == dict(zip(names, ["", *names[:-1]], strict=True))
    memory.delete(kind, ids[1])
    memory.worker().drain()
    assert named(memory, kind)[names[2]] == names[1], "a document names what is gone, which is no candidate"
    memory.reindexing().begin([TENANT], lambda _progress: None)
    memory.worker().drain()
    assert named(memory, kind) == dict(zip([names[0], *names[2:]], ["", names[0], *names[2:-1]], strict=True))
    memory.close()


def named(memory: Memories, kind: Kind) -> dict[str, str]:
    """The document before each, as the index has it."""
    (space,) = memory.index.spaces()
    found = memory.index.search(space, IndexQuery(tenant=TENANT, kind=kind, text="ferry"))
    return {hit.id: hit.before for hit in found.lexical}


LINES = ("When does the ferry to Bergen leave?", "Eight", "Thanks")
OTHERS = tuple(f"number {number} of many" for number in range(6))


@pytest.mark.parametrize("waiting", [False, True])
def test_an_answer_is_found_by_the_words_of_the_question_before_it_until_that_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, waiting: bool
) -> None:
    monkeypatch.setattr(index_documents, "OF_WHAT_STANDS_BEFORE", 0.0)  # words alone
    memory = memories(tmp_path)
    ids = memory.write("passage", *OTHERS, *LINES)
    if not waiting:
        memory.worker().drain()
    assert [hit.record.text for hit in memory.found("passage", "ferry Bergen", limit=2).hits] == list(LINES[:2])
    memory.delete("passage", ids[len(OTHERS)])
    after = [hit.record.text for hit in memory.found("passage", "ferry Bergen", limit=10).hits]
    assert LINES[0] not in after
    memory.close()


@pytest.mark.parametrize("indexed", [0, 200])
def test_what_waits_is_found_as_it_is_when_it_is_indexed(tmp_path: Path, indexed: int) -> None:
    """By words, by meaning, and by what stands before it; also where one list of candidates is full without it."""
    memory = memories(tmp_path)
    words = ("ferry", "harbour", "Bergen", "rain", "tea", "noon", "captain", "ticket", "boat")
    texts = [" ".join(random.Random(number).choices(words, k=4)) + f" {number}" for number in range(indexed + 50)]
    for start in range(0, indexed + 1, 50):
        memory.write("passage", *texts[start : min(start + 50, indexed + 1)])
    memory.worker().drain()
    memory.write("passage", *texts[indexed + 1 :])
    waiting, after = (scores(memory, drain=drain) for drain in (False, True))
    first = texts[indexed + 1 : indexed + 4]  # what stands before the first that waits is not known
    best = [text for text in after if text not in first][:40]
    assert len(best) == 40
    assert {text: waiting.get(text) for text in best} == pytest.approx({text: after[text] for text in best}, rel=0.01)
    memory.close()


def scores(memory: Memories, *, drain: bool) -> dict[str, float]:
    if drain:
        memory.worker().drain()
    return {hit.record.text: hit.score for hit in memory.found("passage", "the ferry to Bergen at noon", limit=60).hits}


def test_a_cosine_in_context_is_that_with_the_vector_in_context() -> None:
    query, own, before = HashingEmbedder().embed(["a ferry at noon", "the noon ferry", "which boat"])
    passage = Passage(id="passage-1", text="x", created_at=ManualClock().now())
    document = in_context(of_passage("t", "archive-1", "archive-1", passage).model_copy(update={"vector": own}), before)
    assert document.vector is not None
    found = cosine_in_context(cosine(query, own), cosine(query, before), cosine(own, before))
    assert found == pytest.approx(cosine(query, document.vector))


def mixed(own: tuple[float, ...], before: tuple[float, ...] | None) -> tuple[float, ...]:
    if before is None:
        return own
    return tuple(one + OF_WHAT_STANDS_BEFORE * other for one, other in zip(own, before, strict=True))
