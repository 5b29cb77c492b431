"""Fusion by reciprocal rank, whatever the lists."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.search.ranks import Ranked, fused

IDS = st.lists(st.sampled_from([f"passage-{number}" for number in range(12)]), unique=True)


def test_a_hit_of_both_lists_passes_the_first_of_each() -> None:
    assert fused([("a", 1.0), ("both", 1.0)], ["b", "both"], 3) == [
        Ranked("both", 0.5 / 7 + 0.5 / 7, 2, 2),
        Ranked("a", 0.5 / 6, 1, None),
        Ranked("b", 0.5 / 6, None, 1),
    ]


def test_who_has_half_of_the_words_counts_by_the_cube_of_it() -> None:
    assert fused([("half", 0.5), ("whole", 1.0)], ["near"], 3) == [
        Ranked("near", 0.5 / 6, None, 1),
        Ranked("whole", 0.5 / 7, 2, None),
        Ranked("half", 0.5 / 6 / 8, 1, None),
    ]


def test_what_could_not_be_in_the_list_of_vectors_counts_as_if_it_stood_there_too() -> None:
    ranked = fused(whole(["new", "both"]), ["both", "b"], 3, unseen={"new"})
    assert [(hit.id, hit.vector_rank) for hit in ranked] == [("new", None), ("both", 1), ("b", 2)]
    assert next(hit.id for hit in fused(whole(["new", "both"]), ["both", "b", "new"], 3, unseen={"new"})) == "both"
    by_chance = fused([("new", 0.2)], ["b"], 3, unseen={"new"})
    assert [hit.id for hit in by_chance] == ["b", "new"]


@given(IDS, IDS, st.integers(min_value=0, max_value=30))
def test_every_id_comes_once_with_its_ranks_best_first_up_to_the_limit(lexical: list[str], vector: list[str], limit: int) -> None:
    found = fused(whole(lexical), vector, limit)
    everything = set(lexical) | set(vector)
    assert len({hit.id for hit in found}) == len(found) == min(limit, len(everything))
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    left_out = everything - {hit.id for hit in found}
    for hit in found:
        assert hit.lexical_rank == (lexical.index(hit.id) + 1 if hit.id in lexical else None)
        assert hit.vector_rank == (vector.index(hit.id) + 1 if hit.id in vector else None)
        parts = [0.5 / (5 + rank) for rank in (hit.lexical_rank, hit.vector_rank) if rank is not None]
        assert math.isclose(hit.score, sum(parts))
    worst = min((hit.score for hit in found), default=math.inf)
    assert all(hit.score <= worst for hit in fused(whole(lexical), vector, 30) if hit.id in left_out)


@given(IDS, IDS)
def test_what_stands_higher_in_both_lists_comes_first(lexical: list[str], vector: list[str]) -> None:
    place = {hit.id: number for number, hit in enumerate(fused(whole(lexical), vector, 30))}
    for one in place:
        for other in place:
            if {one, other} <= set(lexical) & set(vector) and one != other:
                if lexical.index(one) < lexical.index(other) and vector.index(one) < vector.index(other):
                    assert place[one] < place[other]


@given(IDS, st.floats(min_value=0.01, max_value=1.0))
def test_one_list_keeps_its_order(ids: list[str], share: float) -> None:
    shares = [(each, share if place % 2 else 1.0) for place, each in enumerate(ids)]
    assert [hit.id for hit in fused(shares, [], 30)] == [hit.id for hit in fused([], ids, 30)] == ids


@given(IDS, IDS, st.floats(min_value=0.01, max_value=1.0))
def test_with_more_of_the_words_none_stands_lower(lexical: list[str], vector: list[str], share: float) -> None:
    for one in lexical:
        places = []
        for own in (share, 1.0):
            ranked = fused([(each, own if each == one else 0.7) for each in lexical], vector, 30)
            places.append([hit.id for hit in ranked].index(one))
        assert places[1] <= places[0]


@given(IDS, IDS)
def test_an_id_that_a_list_names_twice_counts_once(lexical: list[str], vector: list[str]) -> None:
    again = [(each, 0.1) for each in lexical]
    assert fused([*whole(lexical), *again], vector, 30) == fused(whole(lexical), vector, 30)


def whole(ids: list[str]) -> list[tuple[str, float]]:
    """Each holds all of the words."""
    return [(each, 1.0) for each in ids]
