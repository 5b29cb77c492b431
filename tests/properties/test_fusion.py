"""Fusion by scores, whatever the lists."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.search.fusion import OF_THE_TEXTS_BEFORE, fused, prominent, spread, with_texts_before

SHARE = st.floats(min_value=0.0, max_value=1.0)
IDS = [f"passage-{number}" for number in range(12)]
LISTS = st.dictionaries(st.sampled_from(IDS), SHARE).map(lambda scores: list(scores.items()))
LIMITS = st.integers(min_value=0, max_value=30)


def test_a_hit_of_both_lists_passes_the_first_of_each() -> None:
    found = fused([("a", 0.9), ("both", 0.8)], [("b", 1.0), ("both", 0.9)], 3)
    assert [(hit.id, hit.lexical_rank, hit.vector_rank) for hit in found] == [("both", 2, 2), ("b", None, 1), ("a", 1, None)]


def test_one_common_word_does_not_pass_the_nearest_by_meaning() -> None:
    assert [hit.id for hit in fused([("by chance", 0.3)], [("near", 1.0), ("by chance", 0.2)], 2)] == ["near", "by chance"]


def test_what_has_no_vector_counts_by_its_words_as_if_they_were_its_meaning_too() -> None:
    lexical, vector = [("new", 0.9), ("old", 0.9)], [("old", 0.5), ("other", 0.6)]
    assert [hit.id for hit in fused(lexical, vector, 3, unseen={"new"})] == ["new", "old", "other"]
    assert [hit.id for hit in fused(lexical, vector, 3)] == ["old", "new", "other"]
    whole = fused([("new", 1.0), ("old", 1.0)], [("old", 0.6)], 2, unseen={"new"})
    assert whole[0].score == pytest.approx(whole[1].score), "a text with all words is worth the best by words and by meaning"


def test_scores_are_spread_between_the_worst_candidate_and_the_best() -> None:
    assert spread([("a", 0.8), ("b", 0.5), ("c", 0.7)]) == [("a", 1.0), ("b", pytest.approx(1 / 4)), ("c", pytest.approx(3 / 4))]
    assert spread([("a", 1.0), ("b", 0.0)]) == [("a", 1.0), ("b", pytest.approx(1 / 3))]
    assert spread([("a", 0.8), ("b", 0.8)]) == [("a", 1.0), ("b", 1.0)]
    assert spread([]) == []


def test_meaning_counts_the_less_the_less_the_best_stands_out() -> None:
    """Turns of one talk, all about as near to a question: the text with its words is the answer, whatever the nearest one is."""
    words = [("answer", 0.8)]
    flat = [("near", 0.80), *((f"turn {number}", 0.70) for number in range(20))]
    apart = [("near", 0.95), *((f"turn {number}", 0.55) for number in range(20))]
    assert fused(words, prominent(flat), 1)[0].id == "answer"
    assert fused(words, prominent(apart), 1)[0].id == "near"


@pytest.mark.parametrize(
    ("scored", "best"),
    [
        ([("a", 0.9), ("b", 0.5)], (0.4 / 0.5) ** 0.4),
        ([("a", 1.0), ("b", 0.5)], 1.0),
        ([("a", 0.7)], 1.0),
        ([("a", 0.7), ("b", 0.7)], 1.0),
        ([("a", 1.0), ("b", 1.0)], 1.0),
    ],
)
def test_the_best_counts_by_its_part_of_the_way_to_a_perfect_match(scored: list[tuple[str, float]], best: float) -> None:
    assert max(score for _, score in prominent(scored)) == pytest.approx(best)


def test_nothing_stands_out_of_nothing() -> None:
    assert prominent([]) == []


@given(LISTS)
def test_standing_out_changes_no_order_and_raises_no_score(scored: list[tuple[str, float]]) -> None:
    places, counted = spread(scored), prominent(scored)
    assert [each for each, _ in counted] == [each for each, _ in places]
    assert all(0.0 <= score <= place for (_, score), (_, place) in zip(counted, places, strict=True))


@given(LISTS, LISTS, LIMITS, st.sets(st.sampled_from(IDS)))
def test_every_id_comes_once_best_first_with_its_ranks_and_a_score_from_0_to_1(
    lexical: list[tuple[str, float]], vector: list[tuple[str, float]], limit: int, unseen: set[str]
) -> None:
    found = fused(lexical, vector, limit, unseen)
    everything = dict(lexical).keys() | dict(vector).keys()
    assert len({hit.id for hit in found}) == len(found) == min(limit, len(everything))
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert all(0.0 <= hit.score <= 1.0 for hit in found)
    for hit in found:
        for rank, scored in ((hit.lexical_rank, lexical), (hit.vector_rank, vector)):
            scores = dict(scored)
            better = sum(score > scores[hit.id] for score in scores.values()) if hit.id in scores else None
            assert (rank is None) == (better is None)
            assert rank is None or better is None or rank > better
    assert found == fused(lexical, vector, 30, unseen)[:limit]


@given(LISTS, LISTS)
def test_what_scores_higher_in_both_lists_comes_first(lexical: list[tuple[str, float]], vector: list[tuple[str, float]]) -> None:
    place = {hit.id: number for number, hit in enumerate(fused(lexical, vector, 30))}
    words, meaning = dict(lexical), dict(vector)
    both = words.keys() & meaning.keys()
    for one in both:
        for other in both:
            if words[one] > words[other] + 1e-9 and meaning[one] > meaning[other] + 1e-9:
                assert place[one] < place[other]


@given(LISTS)
def test_one_list_keeps_its_order_and_its_scores(scored: list[tuple[str, float]]) -> None:
    best_first = sorted(scored, key=lambda hit: -hit[1])
    for found in (fused(scored, [], 30), fused([], scored, 30)):
        assert [(hit.id, hit.score) for hit in found] == best_first


@given(LISTS, LISTS, st.sampled_from(IDS), SHARE)
def test_with_a_higher_score_by_words_none_stands_lower(
    lexical: list[tuple[str, float]], vector: list[tuple[str, float]], one: str, score: float
) -> None:
    words = dict(lexical)
    if one not in words:
        return
    raised = [(each, max(score, own) if each == one else own) for each, own in lexical]
    before, after = ([hit.id for hit in fused(scores, vector, 30)].index(one) for scores in (lexical, raised))
    assert after <= before


CHAIN = {later: earlier for earlier, later in pairwise(IDS)}
"""Each id follows the one before it."""


def test_the_words_of_the_lines_before_lift_the_answer() -> None:
    words, meaning = [("question", 0.9)], [("other", 0.8), ("answer", 0.75), ("question", 0.7)]
    assert [hit.id for hit in fused(words, meaning, 3)] == ["question", "other", "answer"]
    assert [hit.id for hit in fused(words, meaning, 3, before={"answer": "question"})] == ["question", "answer", "other"]


@pytest.mark.parametrize("steps", range(1, 5))
def test_three_lines_before_lend_the_less_the_farther_they_are(steps: int) -> None:
    scores = {IDS[0]: 0.8} | dict.fromkeys(IDS[1 : steps + 1], 0.0)
    part = OF_THE_TEXTS_BEFORE[steps - 1] if steps <= len(OF_THE_TEXTS_BEFORE) else 0.0
    assert with_texts_before(scores, CHAIN)[IDS[steps]] == pytest.approx(0.8 * part)


def test_a_text_that_has_the_words_itself_gains_little() -> None:
    found = with_texts_before({IDS[0]: 0.8, IDS[1]: 0.9, IDS[2]: 1.0}, CHAIN)
    assert found == {IDS[0]: 0.8, IDS[1]: pytest.approx(0.9 + 0.1 * 0.25 * 0.8), IDS[2]: 1.0}


@given(LISTS, st.sampled_from(IDS))
def test_a_text_that_is_gone_lends_nothing_and_those_before_it_neither(scored: list[tuple[str, float]], gone: str) -> None:
    scores = {each: score for each, score in scored if each != gone}
    found = with_texts_before(scores, CHAIN)
    cut = {later: earlier for later, earlier in CHAIN.items() if gone not in (later, earlier)}
    assert found == with_texts_before(scores, cut)
    assert all(scores[each] <= score <= 1.0 for each, score in found.items())


@given(LISTS, LISTS, st.dictionaries(st.sampled_from(IDS), st.sampled_from(IDS)), st.sets(st.sampled_from(IDS)))
def test_whatever_stands_before_no_hit_comes_or_goes(
    lexical: list[tuple[str, float]], vector: list[tuple[str, float]], before: dict[str, str], unseen: set[str]
) -> None:
    """Even in a circle. One list alone stays as it is."""
    alone, found = fused(lexical, vector, 30, unseen), fused(lexical, vector, 30, unseen, before)
    assert {(hit.id, hit.lexical_rank, hit.vector_rank) for hit in found} == {
        (hit.id, hit.lexical_rank, hit.vector_rank) for hit in alone
    }
    scores = {hit.id: hit.score for hit in alone}
    assert all(scores[hit.id] - 1e-12 <= hit.score <= 1.0 + 1e-12 for hit in found)
    if not lexical or not vector:
        assert found == alone
