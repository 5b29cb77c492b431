"""BM25 without an index: its arithmetic, and that one text's score depends on the texts searched and on nothing else."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.search.bm25 import best, rarities, rarity, saturation, scan, shares
from hibernaut.domain.search.words import analysed, terms
from hibernaut.schemas.memory.search_index import WordCounts

WORDS = st.sampled_from(["harbour", "harbours", "boat", "café", "tea", "東京", "the", "Straße", "42", "rare"])
TEXTS = st.lists(st.lists(WORDS, max_size=12).map(" ".join), max_size=12)
QUERIES = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)


@given(QUERIES, TEXTS)
def test_a_scan_counts_what_counting_each_text_alone_counts(query: str, texts: list[str]) -> None:
    wanted = terms(query)
    found = scan(wanted, enumerate(texts))
    each = [Counter(analysed(text)) for text in texts]
    assert found.counts.texts == len(texts)
    assert found.counts.holding == {term: held for term in wanted if (held := sum(term in one for one in each))}
    weights = rarities(wanted, found.counts)
    right = {
        place: sum(weights[term] * saturation(one[term], one.total()) for term in wanted if one[term])
        for place, one in enumerate(each)
        if any(one[term] for term in wanted)
    }
    assert dict(found.scored(weights)) == pytest.approx(right)


@given(QUERIES, TEXTS)
def test_the_best_have_scores_above_0_up_to_1_best_first(query: str, texts: list[str]) -> None:
    found = best(query, enumerate(texts), 5)
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    assert all(0.0 < score <= 1.0 for _, score in found)


@given(st.integers(min_value=0, max_value=1000), st.integers(min_value=0, max_value=1000))
def test_a_rarity_is_above_0_and_falls_with_what_holds_the_term(texts: int, holding: int) -> None:
    held = min(texts, holding)
    assert rarity(texts, held) > 0.0
    assert rarity(texts, held) > rarity(texts + 1, held + 1) or texts > held
    assert held == 0 or rarity(texts, held) < rarity(texts, held - 1)


def test_texts_in_two_parts_score_as_in_one() -> None:
    """What the index knows and what waits for it: the counts of both make one rarity."""
    wanted = ["harbour", "boat"]
    one = WordCounts(texts=10, holding={"harbour": 3})
    other = WordCounts(texts=5, holding={"harbour": 1, "boat": 2})
    assert rarities(wanted, one, other) == rarities(wanted, WordCounts(texts=15, holding={"harbour": 4, "boat": 2}))


def test_a_text_with_all_terms_is_whole_and_one_with_a_common_term_is_little() -> None:
    scored = dict(
        best("harbour lights of Bergen", enumerate(["harbour lights of Bergen", "harbour", "harbour boats", "a cat"]), 4)
    )
    assert max(scored, key=scored.__getitem__) == 0
    assert scored[0] > 0.7
    assert scored[1] < 0.4
    assert shares([("one", 2.0)], 8.0) == [("one", 0.25)]
    assert shares([("one", 9.0)], 8.0) == [("one", 1.0)]
    assert shares([], 8.0) == []


def test_stems_cjk_pairs_and_accents_match() -> None:
    for query, text in (("harbours", "the harbour"), ("東京タワー", "東京にいます"), ("CAFE", "im Café")):
        assert best(query, [("it", text), ("other", "nothing of the kind")], 5)[0][0] == "it"
