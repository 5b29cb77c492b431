"""What the port promises of filters. Collected by `test_index`, the one file that starts OpenSearch."""

from __future__ import annotations

from datetime import timedelta

from hibernaut.ports.memory.memory_index import MemoryIndex
from hibernaut.schemas.memory.search_index import IndexDocument, Reach, Stretch
from tests.contracts.memory_index.documents import EAST, NOON, SPACE, both, by_vector, by_words, document, held, query, tombstone


def facts(index: MemoryIndex, *documents: IndexDocument) -> None:
    """All say "fact" and look east."""
    index.put(SPACE, [each.model_copy(update={"vector": EAST}) for each in documents])


def test_tenants_never_see_each_other(index: MemoryIndex) -> None:
    facts(index, document("one"), document("one", "another fact", tenant="else"), document("two", tenant="else", version=9))
    facts(index, document("b:c", tenant="a"), document("c", tenant="a:b"), document("c", tenant="1:a"))
    for tenant, ids in {"home": {"one"}, "else": {"one", "two"}, "a": {"b:c"}, "a:b": {"c"}, "1:a": {"c"}}.items():
        for places in (("archive",), None):
            assert both(index, tenant=tenant, places=places) == (ids, ids)
        assert {state[0] for state in held(index, tenant)} == ids
    index.remove(SPACE, [tombstone("one", 9, "else")])
    assert both(index) == ({"one"}, {"one"})


def test_kinds_and_places_are_apart(index: MemoryIndex) -> None:
    facts(
        index,
        document("here"),
        document("there", place="other"),
        document("message", kind="message"),
        document("file", kind="file"),
        document("third", place="third"),
    )
    assert both(index) == ({"here"}, {"here"})
    assert both(index, places=("other",)) == ({"there"}, {"there"})
    assert both(index, places=("other", "archive", "nowhere", "other")) == ({"here", "there"}, {"here", "there"})
    assert both(index, places=None) == ({"here", "there", "third"}, {"here", "there", "third"})
    assert both(index, places=()) == (set(), set())
    assert both(index, kind="message") == ({"message"}, {"message"})


def test_conversations_are_apart_and_the_agents_own_is_one(index: MemoryIndex) -> None:
    facts(index, document("own"), document("forked", conversation="conv-1"), document("other", conversation="conv-2"))
    for conversation, ids in {"": {"own"}, "conv-1": {"forked"}, "conv-3": set[str]()}.items():
        assert both(index, reach=Reach(stretches=(Stretch(conversation=conversation),))) == (ids, ids)
    every = {"own", "forked", "other"}
    assert both(index) == both(index, reach=Reach(stretches=(Stretch(),))) == (every, every)


def test_stretches_of_conversations_and_single_documents_are_searched_as_one(index: MemoryIndex) -> None:
    """Behind `after`, up to and with `upto`, and nothing else, however near in time."""
    facts(index, *(document(f"{log}/{number}", conversation=log) for log in ("a", "b", "c") for number in range(1, 7)))

    def found(*stretches: Stretch, ids: tuple[str, ...] = ()) -> set[str]:
        lexical, vector = both(index, reach=Reach(stretches=stretches, ids=ids))
        assert lexical == vector
        return lexical

    assert found(Stretch(conversation="a", after="a/2", upto="a/4")) == {"a/3", "a/4"}
    assert found(Stretch(conversation="a", after="a/5"), Stretch(conversation="b", upto="b/1")) == {"a/6", "b/1"}
    assert found(Stretch(conversation="a", upto="a/1"), ids=("b/5", "c/9", "a/1", "b/2")) == {"a/1", "b/2", "b/5"}
    assert found(Stretch(conversation="a", after="a/4", upto="a/2")) == found(Stretch(conversation="b", upto="a/9")) == set()
    assert found(Stretch(after="a/5", upto="b/2")) == {"a/6", "b/1", "b/2"}
    assert found(ids=("c/2",)) == {"c/2"}
    assert found() == set()


def test_ids_are_compared_by_their_code_points(index: MemoryIndex) -> None:
    names = ("A", "Z", "a", "z", "\u00e9", "\uffee", "\U0001f642")
    facts(index, *map(document, names))
    for place, name in enumerate(names):
        ids = {*names[: place + 1]}
        assert both(index, reach=Reach(stretches=(Stretch(upto=name),))) == (ids, ids)


def test_as_many_stretches_as_a_fork_can_have_and_as_many_ids_as_a_window_are_searched(index: MemoryIndex) -> None:
    facts(index, *(document(f"{log:02}/{number}", conversation=f"{log:02}") for log in range(60) for number in range(2)))
    stretches = tuple(Stretch(conversation=f"{log:02}", after=f"{log:02}/0", upto=f"{log:02}/1") for log in range(51))
    ids = tuple(f"59/{number}" for number in range(5_000))
    wanted = {f"{log:02}/1" for log in range(51)} | {"59/0", "59/1"}
    assert both(index, reach=Reach(stretches=stretches, ids=ids), limit=1000) == (wanted, wanted)


def test_files_and_roles_are_chosen(index: MemoryIndex) -> None:
    facts(index, *(document(f"{role}-{file}", role=role, file_id=file) for role in ("user", "tool") for file in ("f1", "f2", "")))
    assert both(index, file_ids=("f1",)) == ({"user-f1", "tool-f1"}, {"user-f1", "tool-f1"})
    assert both(index, roles=("tool", "assistant"), file_ids=("f1", "f2")) == ({"tool-f1", "tool-f2"}, {"tool-f1", "tool-f2"})


def test_tags_match_any_or_all(index: MemoryIndex) -> None:
    facts(
        index,
        document("both", tags=("red", "Grün, sehr", "red")),
        document("red", tags=("red",)),
        document("green", tags=("Grün, sehr",)),
        document("none"),
        document("case", tags=("RED",)),
    )
    wanted = ("red", "Grün, sehr")
    assert both(index, tags=wanted) == ({"both", "red", "green"}, {"both", "red", "green"})
    assert both(index, tags=(*wanted, "red"), tag_match="all") == ({"both"}, {"both"})
    assert both(index, tags=("unknown",)) == both(index, tags=("red", "unknown"), tag_match="all") == (set(), set())


def test_dates_are_inclusive_to_the_microsecond(index: MemoryIndex) -> None:
    moment = timedelta(microseconds=1)
    facts(index, *(document(str(number), created_at=NOON + number * moment) for number in range(-1, 3)))
    assert both(index, start=NOON, end=NOON + moment) == ({"0", "1"}, {"0", "1"})
    assert both(index, start=NOON + moment) == ({"1", "2"}, {"1", "2"})
    assert both(index, end=NOON - moment) == ({"-1"}, {"-1"})
    assert both(index, start=NOON + moment, end=NOON) == (set(), set())


def test_filters_hold_before_the_cut(index: MemoryIndex) -> None:
    index.put(SPACE, [document(f"near-{number}", "fact fact", EAST) for number in range(300)])
    index.put(SPACE, [document("far", "one fact among many other words", (0.1, 0.9, 0.0, 0.0), tags=("rare",), version=1)])
    assert both(index, tags=("rare",), limit=1) == ({"far"}, {"far"})
    assert both(index, reach=Reach(stretches=(Stretch(upto="far"),)), limit=1) == ({"far"}, {"far"})


def test_the_limit_counts_each_list(index: MemoryIndex) -> None:
    facts(index, *(document(f"{number}") for number in range(30)))
    found = index.search(SPACE, query("fact", EAST, limit=7))
    assert (len(found.lexical), len(found.vector)) == (7, 7)
    found = index.search(SPACE, query("fact", EAST, limit=1000))
    assert (len(found.lexical), len(found.vector)) == (30, 30)


def test_among_equals_the_newer_comes_first(index: MemoryIndex) -> None:
    times = {"c": 1, "a": 3, "b": 2, "d": 3}
    facts(index, *(document(name, created_at=NOON + timedelta(hours=hours)) for name, hours in times.items()))
    assert by_words(index, "fact") == by_vector(index, EAST) == ["a", "d", "b", "c"]
