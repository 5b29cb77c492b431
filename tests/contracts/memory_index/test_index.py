"""The port's promises, on every engine. All that share the OpenSearch node are collected in this file, so that one worker starts
it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from hibernaut.adapters.memory_index import opensearch_requests
from hibernaut.adapters.memory_index.opensearch import OpenSearchMemoryIndex
from hibernaut.adapters.memory_index.opensearch_client import connected
from hibernaut.adapters.memory_index.opensearch_collection import CollectionDialect
from hibernaut.adapters.memory_index.opensearch_domain import DomainDialect
from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex
from hibernaut.domain.search.bm25 import rarities, shares
from hibernaut.domain.search.fusion import fused, prominent
from hibernaut.domain.search.words import terms
from hibernaut.ports.memory.memory_index import MemoryIndex
from tests.contracts.memory_index.documents import (
    EAST,
    NORTH,
    SPACE,
    UP,
    both,
    by_vector,
    by_words,
    corpus,
    document,
    held,
    meaning,
    query,
    tombstone,
)
from tests.contracts.memory_index.promises_copies import (
    test_a_collection_takes_every_request_signed,
    test_a_copy_is_discarded_before_it_is_seen,
    test_a_removal_takes_every_copy_but_a_newer_one,
    test_copies_push_no_document_out_of_the_hits,
    test_of_several_copies_the_newest_is_found_and_the_others_are_collected,
    test_what_is_written_is_found_when_the_refresh_interval_is_over,
    test_what_sleeps_is_said_to_sleep_and_is_woken,
    test_what_was_dropped_is_made_again_whatever_another_process_remembers,
    test_where_a_write_fails_nothing_of_it_stays,
)
from tests.contracts.memory_index.promises_filters import (
    test_among_equals_the_newer_comes_first,
    test_as_many_stretches_as_a_fork_can_have_and_as_many_ids_as_a_window_are_searched,
    test_conversations_are_apart_and_the_agents_own_is_one,
    test_dates_are_inclusive_to_the_microsecond,
    test_files_and_roles_are_chosen,
    test_filters_hold_before_the_cut,
    test_ids_are_compared_by_their_code_points,
    test_kinds_and_places_are_apart,
    test_stretches_of_conversations_and_single_documents_are_searched_as_one,
    test_tags_match_any_or_all,
    test_tenants_never_see_each_other,
    test_the_limit_counts_each_list,
)
from tests.contracts.memory_index.promises_permissions import (
    test_a_collection_is_asked_what_the_roles_are_allowed_and_they_are_allowed_no_more,
)
from tests.contracts.memory_index.promises_scores import (
    test_a_term_that_every_text_holds_still_counts,
    test_no_tenants_documents_move_the_scores_of_anothers,
    test_scores_by_words_are_those_of_the_one_formula,
    test_what_was_replaced_and_removed_counts_no_more,
)
from tests.contracts.memory_index.promises_versions import (
    test_a_newer_version_replaces_all_of_an_older,
    test_a_tombstone_before_its_document_holds,
    test_a_vector_may_be_taken_away,
    test_an_old_tombstone_takes_no_newer_document_away,
    test_an_older_or_equal_version_changes_nothing,
    test_hits_of_both_lists_name_the_document_before_them,
    test_the_highest_of_versions_put_at_once_stays,
    test_what_was_removed_is_not_found_and_does_not_come_back_in_the_same_or_an_older_version,
)
from tests.contracts.memory_index.promises_words import (
    test_a_huge_query_counts_by_its_first_words,
    test_a_huge_text_is_found_by_its_last_words,
    test_a_query_without_words_has_no_lexical_hits,
    test_single_characters_of_longer_words_do_not_match,
    test_words_are_found_whatever_their_form_and_script,
)
from tests.support.opensearch import OpenSearchNode, over_domain

__all__ = [
    "test_a_collection_is_asked_what_the_roles_are_allowed_and_they_are_allowed_no_more",
    "test_a_collection_takes_every_request_signed",
    "test_a_copy_is_discarded_before_it_is_seen",
    "test_a_huge_query_counts_by_its_first_words",
    "test_a_huge_text_is_found_by_its_last_words",
    "test_a_newer_version_replaces_all_of_an_older",
    "test_a_query_without_words_has_no_lexical_hits",
    "test_a_removal_takes_every_copy_but_a_newer_one",
    "test_a_term_that_every_text_holds_still_counts",
    "test_a_tombstone_before_its_document_holds",
    "test_a_vector_may_be_taken_away",
    "test_among_equals_the_newer_comes_first",
    "test_an_old_tombstone_takes_no_newer_document_away",
    "test_an_older_or_equal_version_changes_nothing",
    "test_as_many_stretches_as_a_fork_can_have_and_as_many_ids_as_a_window_are_searched",
    "test_conversations_are_apart_and_the_agents_own_is_one",
    "test_copies_push_no_document_out_of_the_hits",
    "test_dates_are_inclusive_to_the_microsecond",
    "test_files_and_roles_are_chosen",
    "test_filters_hold_before_the_cut",
    "test_hits_of_both_lists_name_the_document_before_them",
    "test_ids_are_compared_by_their_code_points",
    "test_kinds_and_places_are_apart",
    "test_no_tenants_documents_move_the_scores_of_anothers",
    "test_of_several_copies_the_newest_is_found_and_the_others_are_collected",
    "test_scores_by_words_are_those_of_the_one_formula",
    "test_single_characters_of_longer_words_do_not_match",
    "test_stretches_of_conversations_and_single_documents_are_searched_as_one",
    "test_tags_match_any_or_all",
    "test_tenants_never_see_each_other",
    "test_the_highest_of_versions_put_at_once_stays",
    "test_the_limit_counts_each_list",
    "test_what_is_written_is_found_when_the_refresh_interval_is_over",
    "test_what_sleeps_is_said_to_sleep_and_is_woken",
    "test_what_was_dropped_is_made_again_whatever_another_process_remembers",
    "test_what_was_removed_is_not_found_and_does_not_come_back_in_the_same_or_an_older_version",
    "test_what_was_replaced_and_removed_counts_no_more",
    "test_where_a_write_fails_nothing_of_it_stays",
    "test_words_are_found_whatever_their_form_and_script",
]


def test_what_was_put_is_found_at_once_by_words_and_by_vectors(index: MemoryIndex) -> None:
    index.put(SPACE, [document("tea", "She drinks green tea", EAST), document("bike", "He rides a bicycle", NORTH)])
    assert by_words(index, "green tea") == ["tea"]
    assert by_vector(index, (0.1, 0.9, 0.0, 0.0)) == ["bike", "tea"]
    index.put(SPACE, [document("late", "And a kettle for tea", UP)])
    assert set(by_words(index, "tea")) == {"tea", "late"}
    assert by_vector(index, UP)[0] == "late"


def test_a_vector_may_come_later(index: MemoryIndex) -> None:
    index.put(SPACE, [document("one", "tea"), document("two", "tea")])
    assert index.search(SPACE, query("tea", EAST)).vector == ()
    assert held(index) == [("one", 1, False), ("two", 1, False)]
    index.put(SPACE, [document("one", "tea", EAST, version=2)])
    assert by_vector(index, EAST) == ["one"]
    assert held(index) == [("one", 2, True), ("two", 1, False)]


def test_removing_twice_and_removing_nothing_are_fine(index: MemoryIndex) -> None:
    index.remove("nowhere", [])
    index.put("nowhere", [])
    index.put(SPACE, [document("one")])
    for _ in range(2):
        index.remove(SPACE, [tombstone("one"), tombstone("never")])
    assert held(index) == []


def test_many_of_the_nearest_may_be_removed(index: MemoryIndex) -> None:
    index.put(SPACE, [document(f"{number:03}", vector=(1.0, number / 1000, 0.0, 0.0)) for number in range(100)])
    assert by_vector(index, EAST, limit=2) == ["000", "001"]
    index.remove(SPACE, [tombstone(f"{number:03}") for number in range(90)])
    assert by_vector(index, EAST, limit=3) == ["090", "091", "092"]


def test_spaces_are_apart_and_are_told(index: MemoryIndex) -> None:
    assert index.spaces() == []
    index.put("mini-4", [document("one", "tea", EAST)])
    index.put("other-2", [document("one", "tea", (1.0, 0.0)), document("two", "tea")])
    index.put("words", [document("three", "tea")])
    assert index.spaces() == ["mini-4", "other-2", "words"]
    assert [hit.id for hit in index.search("other-2", query("tea", (1.0, 0.0))).vector] == ["one"]
    assert {hit.id for hit in index.search("words", query("tea")).lexical} == {"three"}
    assert index.search("words", query("tea", EAST)).vector == ()
    index.drop("other-2")
    assert index.spaces() == ["mini-4", "words"]
    assert by_words(index, "tea") == ["one"]


def test_what_does_not_exist_has_no_hits_and_can_be_dropped(index: MemoryIndex) -> None:
    assert both(index) == (set(), set())
    assert held(index) == []
    index.drop(SPACE)


def test_a_dropped_space_can_be_filled_again_even_in_another_dimension(index: MemoryIndex) -> None:
    index.put(SPACE, [document("one", "tea", EAST, version=7)])
    assert by_vector(index, EAST) == ["one"]
    index.drop(SPACE)
    assert (by_words(index, "tea"), by_vector(index, EAST), held(index)) == ([], [], [])
    index.put(SPACE, [document("one", "tea", (0.0, 1.0), version=1)])
    assert by_vector(index, (0.0, 1.0)) == ["one"]


@pytest.mark.parametrize("odd", [(1.0, 0.0), (0.0, 0.0, 0.0, 0.0), (float("nan"), 1.0, 0.0, 0.0), (float("inf"), 1.0, 0.0, 0.0)])
def test_a_vector_that_cannot_be_compared_is_refused_and_nothing_is_stored(index: MemoryIndex, odd: tuple[float, ...]) -> None:
    index.put(SPACE, [document("one", "tea", EAST)])
    with pytest.raises(ValueError, match="vector"):
        index.put(SPACE, [document("two", "tea"), document("three", "tea", odd)])
    with pytest.raises(ValueError, match="vector"):
        index.search(SPACE, query("tea", odd))
    assert held(index) == [("one", 1, True)]


def test_two_dimensions_in_one_write_are_refused(index: MemoryIndex) -> None:
    with pytest.raises(ValueError, match="vector"):
        index.put(SPACE, [document("one", vector=EAST), document("two", vector=(1.0, 0.0))])
    index.put(SPACE, [document("two", vector=(1.0, 0.0))])
    assert held(index) == [("two", 1, True)]


def test_all_documents_are_told_in_the_order_of_their_ids(index: MemoryIndex) -> None:
    names = [f"m-{number * 919 % 2503:05}" for number in range(2503)]
    for start in range(0, len(names), 1000):
        index.put(SPACE, [document(name, "x", EAST if name.endswith("7") else None) for name in names[start : start + 1000]])
    assert held(index) == [(name, 1, name.endswith("7")) for name in sorted(names)]
    assert held(index, "else") == []


def test_many_threads_may_write_and_read_from_the_very_first_write_on(index: MemoryIndex) -> None:
    start = threading.Barrier(6)
    failures: list[str] = []

    def work(worker: int) -> None:
        start.wait()
        try:
            for turn in range(8):
                name = f"{worker}-{turn}"
                index.put(
                    SPACE,
                    [document(name, f"fact number{worker}x{turn}", EAST), document("shared", vector=EAST, version=turn + 1)],
                )
                if by_words(index, f"number{worker}x{turn}") != [name] or name not in by_vector(index, EAST):
                    failures.append(f"{name} is not found")
                if turn % 2:
                    index.remove(SPACE, [tombstone(name)])
                    if name in by_vector(index, EAST):
                        failures.append(f"{name} is still found")
        except Exception as error:  # noqa: BLE001 - told by the test's own thread
            failures.append(repr(error))

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    kept = sorted(f"{worker}-{turn}" for worker in range(6) for turn in range(0, 8, 2))
    assert held(index) == [*((name, 1, True) for name in kept), ("shared", 8, True)]


# Ranks: one corpus, both engines


LEXICAL_ANSWERS = {
    "Which of them keeps a tortoise?": {f"fact-{who}-0" for who in range(6)},
    "Chidi tortoises": {"fact-2-0"},
    "is Emre allergic to walnuts": {"fact-4-1"},
    "Freya's cello": {"fact-5-2"},
    "who visited Iceland": {f"fact-{who}-4" for who in range(6)},
    "Bruno typewriter repairing": {"fact-1-5"},
    "Dunja sailing boats": {"fact-3-8"},
    "poems by Ana about railways": {"fact-0-9"},
}


def test_the_right_facts_come_first(index: MemoryIndex) -> None:
    index.put("facts", corpus())
    for asked, right in LEXICAL_ANSWERS.items():
        found = index.search("facts", query(asked, meaning(asked)))
        assert {hit.id for hit in found.lexical[: len(right)]} == right
        ceiling = sum(rarities(terms(asked), found.counts).values())
        by_words, by_meaning = ([(hit.id, hit.score) for hit in hits] for hits in (found.lexical, found.vector))
        ranked = fused(shares(by_words, ceiling), prominent(by_meaning), len(right))
        assert {hit.id for hit in ranked} == right


def test_both_engines_rank_alike(
    new_opensearch: Callable[[], OpenSearchMemoryIndex], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """By vectors the same ids in the same order. By words the same scores: Lucene rounds only lengths of more than forty
    terms.
    """
    sqlite = SqliteMemoryIndex(tmp_path_factory.mktemp("ranks") / "memory.db")
    opensearch = new_opensearch()
    for engine in (sqlite, opensearch):
        engine.put("facts", corpus())
    for asked in LEXICAL_ANSWERS:
        wanted = query(asked, meaning(asked), limit=60)
        here, there = sqlite.search("facts", wanted), opensearch.search("facts", wanted)
        assert [hit.id for hit in here.vector] == [hit.id for hit in there.vector]
        assert {hit.id: hit.score for hit in here.lexical} == pytest.approx(
            {hit.id: hit.score for hit in there.lexical}, rel=1e-5
        )
    sqlite.close()


# OpenSearch alone


def test_every_vector_field_is_kept_by_the_lucene_engine(
    new_opensearch: Callable[[], OpenSearchMemoryIndex], opensearch_node: OpenSearchNode
) -> None:
    """Any other engine of k-NN is native code, which these nodes lack and whose filters come after the choice."""
    index = new_opensearch()
    index.put("with-vectors", [document("one", vector=EAST)])
    client = connected(opensearch_node.address)
    mappings = client.indices.get_mapping(index="*-with-vectors")
    fields = [field for made in mappings.values() for field in made["mappings"]["properties"].values()]
    vectors = [field for field in fields if field["type"] == "knn_vector"]
    assert [field["method"]["engine"] for field in vectors] == ["lucene"]
    assert {field["method"]["space_type"] for field in vectors} == {"cosinesimil"}
    assert all(made["mappings"]["dynamic"] == "strict" for made in mappings.values())
    client.close()


def test_what_one_process_dropped_another_makes_again_whatever_it_remembers(
    opensearch_node: OpenSearchNode, new_opensearch: Callable[[], OpenSearchMemoryIndex]
) -> None:
    one = new_opensearch()
    other = over_domain(connected(opensearch_node.address), prefix=one.prefix)
    other.put(SPACE, [document("one", "tea", EAST)])
    one.drop(SPACE)
    assert by_vector(other, EAST) == []
    other.put(SPACE, [document("one", "tea", EAST)])  # the index is made anew, with its field for vectors
    assert by_vector(one, EAST) == ["one"]
    one.drop(SPACE)
    one.put(SPACE, [document("one", "tea")])
    assert by_vector(other, EAST) == []
    other.put(SPACE, [document("one", "tea", EAST, version=2)])
    assert by_vector(one, EAST) == ["one"]
    one.drop(SPACE)
    other.remove(SPACE, [tombstone("one", 2)])
    other.put(SPACE, [document("one", "tea", EAST, version=2), document("two", "tea", EAST)])
    assert held(one) == [("two", 1, True)]
    one.drop(SPACE)
    one.put(SPACE, [document("one", "tea", (1.0, 0.0))])
    assert by_vector(other, (1.0, 0.0)) == ["one"]
    other.close()


@pytest.mark.parametrize("engine", ["opensearch", "serverless"])
def test_an_index_of_a_release_that_named_no_documents_before_is_searched_and_written_on(
    request: pytest.FixtureRequest, engine: str
) -> None:
    index: OpenSearchMemoryIndex = request.getfixturevalue(f"new_{engine}")()
    address: str = request.getfixturevalue("opensearch_node" if engine == "opensearch" else "collection").address
    client = connected(address, seconds=60)
    dialect = DomainDialect(client) if engine == "opensearch" else CollectionDialect(client)
    name = f"{index.prefix}-{opensearch_requests.FORMAT}-{SPACE}"
    body = dialect.index_body(index.prefix, SPACE, f"{name}.writes")
    del body["mappings"]["properties"]["before"]
    client.indices.create(index=name, body=body)
    client.indices.put_mapping(index=name, body=dialect.vector_mapping(len(EAST)))
    old = document("old", "tea", EAST)
    fields = {key: value for key, value in opensearch_requests.source(old).items() if key != "before"}
    if engine == "opensearch":
        client.index(index=name, id=opensearch_requests.key(old.tenant, old.id), body=fields, refresh=True)
    else:
        counted = {"version": 1, "length": 1, "copy": "1", "frequencies": {"tea": 1}}
        client.index(index=name, body={**fields, **counted})
    found = index.search(SPACE, query("tea", EAST))
    assert [(hit.id, hit.before) for hits in (found.lexical, found.vector) for hit in hits] == [("old", "")] * 2
    index.put(SPACE, [document("new", "tea", EAST, before="old")])
    found = index.search(SPACE, query("tea", EAST))
    for hits in (found.lexical, found.vector):
        assert {hit.id: hit.before for hit in hits} == {"old": "", "new": "old"}
    client.close()


def test_prefixes_that_begin_alike_share_nothing(
    opensearch_node: OpenSearchNode, new_opensearch: Callable[[], OpenSearchMemoryIndex]
) -> None:
    one = new_opensearch()
    longer = over_domain(connected(opensearch_node.address), prefix=f"{one.prefix}-longer")
    longer.put(SPACE, [document("one")])
    assert (one.spaces(), longer.spaces()) == ([], [SPACE])
    longer.drop(SPACE)
    longer.close()


def test_requests_are_signed_where_there_is_a_region(
    opensearch_node: OpenSearchNode, new_opensearch: Callable[[], OpenSearchMemoryIndex]
) -> None:
    signed = over_domain(connected(opensearch_node.address, region="eu-central-1"), prefix=new_opensearch().prefix)
    signed.put(SPACE, [document("one", "tea", EAST)])
    assert by_vector(signed, EAST) == ["one"]
    signed.close()
