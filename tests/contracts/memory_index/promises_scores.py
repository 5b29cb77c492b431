"""What the port promises of scores by words. Collected by `test_index`, the one file that starts OpenSearch."""

from __future__ import annotations

from collections import Counter

import pytest

from hibernaut.domain.search.bm25 import rarities, rarity, saturation
from hibernaut.domain.search.words import analysed, terms
from hibernaut.ports.memory.memory_index import MemoryIndex
from hibernaut.schemas.memory.search_index import IndexFound, WordCounts
from tests.contracts.memory_index.documents import SPACE, corpus, document, meaning, query, tombstone

ASKED = "Which tortoises live in Chidi's garden, which in the cellar?"
TEXTS = {one.id: one.text for one in corpus()}


def expected(found: IndexFound, texts: dict[str, str], unindexed: WordCounts) -> dict[str, float]:
    """The formula of `domain.search.bm25`, worked out for each text."""
    weights = rarities(terms(ASKED), found.counts, unindexed)
    scores = {}
    for name, text in texts.items():
        held = Counter(analysed(text))
        parts = [weights[term] * saturation(held[term], held.total()) for term in weights if held[term]]
        if parts:
            scores[name] = sum(parts)
    return scores


@pytest.mark.parametrize("unindexed", [WordCounts(), WordCounts(texts=500, holding={"tortois": 400, "garden": 3})])
def test_scores_by_words_are_those_of_the_one_formula(index: MemoryIndex, unindexed: WordCounts) -> None:
    index.put(SPACE, corpus())
    found = index.search(SPACE, query(ASKED, limit=100, unindexed=unindexed))
    assert found.counts.texts == len(TEXTS)
    assert found.counts.holding == {term: sum(term in analysed(text) for text in TEXTS.values()) for term in terms(ASKED)}
    assert {hit.id: hit.score for hit in found.lexical} == pytest.approx(expected(found, TEXTS, unindexed), rel=1e-5)
    assert [hit.score for hit in found.lexical] == sorted((hit.score for hit in found.lexical), reverse=True)


def test_no_tenants_documents_move_the_scores_of_anothers(index: MemoryIndex) -> None:
    index.put(SPACE, corpus())
    alone = index.search(SPACE, query(ASKED, meaning(ASKED), limit=100))
    index.put(SPACE, [document(f"x{number}", "a tortoise in the garden " * 30, tenant="other") for number in range(200)])
    assert index.search(SPACE, query(ASKED, meaning(ASKED), limit=100)) == alone
    index.remove(SPACE, [tombstone(f"x{number}", tenant="other") for number in range(200)])
    assert index.search(SPACE, query(ASKED, meaning(ASKED), limit=100)) == alone


def test_what_was_replaced_and_removed_counts_no_more(index: MemoryIndex) -> None:
    index.put(SPACE, corpus())
    before = index.search(SPACE, query(ASKED, limit=100))
    index.put(SPACE, [document(f"x{number}", "a tortoise") for number in range(20)])
    index.put(SPACE, [document(f"x{number}", "a garden", version=2) for number in range(20)])
    index.remove(SPACE, [tombstone(f"x{number}", version=2) for number in range(20)])
    assert index.search(SPACE, query(ASKED, limit=100)) == before


def test_a_term_that_every_text_holds_still_counts(index: MemoryIndex) -> None:
    index.put(SPACE, [document("one", "tea"), document("two", "tea for two"), document("three", "tea")])
    found = index.search(SPACE, query("tea")).lexical
    assert len(found) == 3
    assert min(hit.score for hit in found) > rarity(3, 3) / 2
