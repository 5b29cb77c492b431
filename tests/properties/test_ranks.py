"""Fusion by reciprocal rank, whatever the lists."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.ranks import Ranked, fused

IDS = st.lists(st.sampled_from([f"passage-{number}" for number in range(12)]), unique=True)


def test_a_hit_of_both_lists_passes_the_first_of_each() -> None:
    assert fused(["a", "both"], ["b", "both"], 3) == [
        Ranked("both", 0.4 / 7 + 0.6 / 7, 2, 2),
        Ranked("b", 0.6 / 6, None, 1),
        Ranked("a", 0.4 / 6, 1, None),
    ]


def test_what_could_not_be_in_the_list_of_vectors_counts_as_if_it_stood_there_too() -> None:
    ranked = fused(["new", "both"], ["both", "b"], 3, unseen={"new"})
    assert [(hit.id, hit.vector_rank) for hit in ranked] == [("new", None), ("both", 1), ("b", 2)]
    assert next(hit.id for hit in fused(["new", "both"], ["both", "new"], 3, unseen={"new"})) == "both"


@given(IDS, IDS, st.integers(min_value=0, max_value=30))
def test_every_id_comes_once_with_its_ranks_best_first_up_to_the_limit(lexical: list[str], vector: list[str], limit: int) -> None:
    found = fused(lexical, vector, limit)
    everything = set(lexical) | set(vector)
    assert len({hit.id for hit in found}) == len(found) == min(limit, len(everything))
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    left_out = everything - {hit.id for hit in found}
    for hit in found:
        assert hit.lexical_rank == (lexical.index(hit.id) + 1 if hit.id in lexical else None)
        assert hit.vector_rank == (vector.index(hit.id) + 1 if hit.id in vector else None)
        ranks = ((0.4, hit.lexical_rank), (0.6, hit.vector_rank))
        parts = [weight / (5 + rank) for weight, rank in ranks if rank is not None]
        assert math.isclose(hit.score, sum(parts))
    worst = min((hit.score for hit in found), default=math.inf)
    assert all(hit.score <= worst for hit in fused(lexical, vector, 30) if hit.id in left_out)


@given(IDS, IDS)
def test_what_stands_higher_in_both_lists_comes_first(lexical: list[str], vector: list[str]) -> None:
    place = {hit.id: number for number, hit in enumerate(fused(lexical, vector, 30))}
    for one in place:
        for other in place:
            if {one, other} <= set(lexical) & set(vector) and one != other:
                if lexical.index(one) < lexical.index(other) and vector.index(one) < vector.index(other):
                    assert place[one] < place[other]


@given(IDS)
def test_one_list_keeps_its_order(ids: list[str]) -> None:
    assert [hit.id for hit in fused(ids, [], 30)] == [hit.id for hit in fused([], ids, 30)] == ids


@given(IDS, IDS)
def test_an_id_that_a_list_names_twice_counts_once(lexical: list[str], vector: list[str]) -> None:
    assert fused([*lexical, *lexical], vector, 30) == fused(lexical, vector, 30)
