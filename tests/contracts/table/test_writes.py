"""What changes do, alone and together, on every engine."""

from __future__ import annotations

import pytest

from hibernaut.ports.storage.table import ABSENT, Check, ConditionFailed, Delete, Key, Put, Table, Update, Value, eq

A, B, C = Key("T#a", "1"), Key("T#a", "2"), Key("T#b", "1")
EVERY_KIND: dict[str, Value] = {
    "pk": "T#a",
    "sk": "1",
    "text": 'quote " and \\ and \n and é and \U0001f980',
    "nothing": "",
    "number": -(10**37),
    "zero": 0,
    "yes": True,
    "no": False,
    "ttl": 4_000_000_000,
    "due_pk": "D",
    "due_sk": "2026",
    "body": '{"json": [1, 2]}',
}


def test_an_item_comes_back_as_it_was_put(table: Table) -> None:
    table.write(Put(EVERY_KIND))
    found = table.get(A)
    assert found == EVERY_KIND
    assert {name: type(value) for name, value in (found or {}).items()} == {
        name: type(value) for name, value in EVERY_KIND.items()
    }


def test_there_is_no_item_where_none_was_put(table: Table) -> None:
    assert table.get(A) is None
    assert table.get_many([A, B]) == {}
    assert table.query("T#a") == []


def test_a_put_takes_the_place_of_the_whole_item(table: Table) -> None:
    table.write(Put({"pk": "T#a", "sk": "1", "old": 1, "body": "old"}))
    table.write(Put({"pk": "T#a", "sk": "1", "new": 2}))
    assert table.get(A) == {"pk": "T#a", "sk": "1", "new": 2}


def test_an_update_sets_adds_and_removes_and_leaves_the_rest(table: Table) -> None:
    table.write(Put({"pk": "T#a", "sk": "1", "kept": "k", "body": "old", "n": 5, "gone": 1}))
    table.write(Update(A, set={"body": "new", "fresh": True}, add={"n": -7, "count": 3}, remove=("gone", "never")))
    assert table.get(A) == {"pk": "T#a", "sk": "1", "kept": "k", "body": "new", "fresh": True, "n": -2, "count": 3}


def test_an_update_makes_the_item_where_there_is_none(table: Table) -> None:
    table.write(Update(A, set={"s": "x"}, add={"n": 2}))
    assert table.get(A) == {"pk": "T#a", "sk": "1", "s": "x", "n": 2}


def test_a_removed_attribute_is_missing_and_an_emptied_one_is_not(table: Table) -> None:
    table.write(Put({"pk": "T#a", "sk": "1", "x": "1", "y": "1"}))
    table.write(Update(A, set={"y": ""}, remove=("x",)))
    assert table.get(A) == {"pk": "T#a", "sk": "1", "y": ""}


def test_adding_counts_beyond_sixty_four_bits(table: Table) -> None:
    table.write(Put({"pk": "T#a", "sk": "1", "n": 2**64}))
    table.write(Update(A, add={"n": 1}))
    assert (table.get(A) or {})["n"] == 2**64 + 1


@pytest.mark.parametrize("standing", ["five", "", True])
def test_adding_to_what_is_no_number_is_a_mistake_and_changes_nothing(table: Table, standing: Value) -> None:
    table.write(Put({"pk": "T#a", "sk": "1", "n": standing}))
    with pytest.raises(ValueError, match=r"."):
        table.write(Update(A, add={"n": 1}))
    with pytest.raises(ValueError, match=r"."):
        table.write(Put({"pk": "T#a", "sk": "2"}), Update(A, add={"n": 1}))
    assert table.get_many([A, B]) == {A: {"pk": "T#a", "sk": "1", "n": standing}}


def test_a_deleted_item_is_gone_and_deleting_nothing_is_no_error(table: Table) -> None:
    table.write(Put({"pk": "T#a", "sk": "1"}))
    table.write(Delete(A))
    assert table.get(A) is None
    table.write(Delete(A))


def test_a_transaction_does_all_its_changes(table: Table) -> None:
    table.write(Put({"pk": "T#a", "sk": "2", "n": 1}), Put({"pk": "T#b", "sk": "1", "n": 1}))
    table.write(
        Put({"pk": "T#a", "sk": "1"}, when=ABSENT),
        Update(B, add={"n": 1}, when=eq(n=1)),
        Delete(C),
        Check(Key("T#x", "1"), ABSENT),
    )
    assert table.get_many([A, B, C]) == {A: {"pk": "T#a", "sk": "1"}, B: {"pk": "T#a", "sk": "2", "n": 2}}


@pytest.mark.parametrize("failing", range(4))
def test_a_transaction_does_nothing_where_any_condition_fails(table: Table, failing: int) -> None:
    before = {B: {"pk": "T#a", "sk": "2", "n": 1}, C: {"pk": "T#b", "sk": "1", "n": 1}}
    table.write(*(Put(item) for item in before.values()))
    when = [eq(n=99) if place == failing else () for place in range(4)]
    changes = (Put({"pk": "T#a", "sk": "1"}, when[0]), Update(B, add={"n": 1}, when=when[1]), Delete(C, when[2]))
    with pytest.raises(ConditionFailed) as failure:
        table.write(*changes, Check(Key("T#x", "1"), when[3] or ABSENT))
    assert list(failure.value.failed) == [failing]
    assert table.get_many([A, B, C]) == before


def test_a_hundred_changes_are_one_transaction(table: Table) -> None:
    table.write(*(Put({"pk": "T#a", "sk": f"{number:03}", "n": number}) for number in range(100)))
    assert [item["n"] for item in table.query("T#a")] == list(range(100))
    with pytest.raises(ConditionFailed):
        table.write(*(Delete(Key("T#a", f"{number:03}"), when=eq(n=number % 99)) for number in range(100)))
    assert len(table.query("T#a")) == 100


def test_the_old_text_survives_a_failed_replacement_of_the_body(table: Table) -> None:
    table.write(Put({"pk": "T#a", "sk": "1", "body": "a" * 5000}))
    with pytest.raises(ConditionFailed):
        table.write(Put({"pk": "T#a", "sk": "1", "body": "b" * 5000}), Check(B, eq(n=1)))
    assert (table.get(A) or {})["body"] == "a" * 5000


@pytest.mark.parametrize("body", [True, 7, "", "text"])
def test_a_body_may_hold_any_kind_of_value(table: Table, body: Value) -> None:
    table.write(Put({"pk": "T#a", "sk": "1", "body": body}))
    assert table.query("T#a") == [{"pk": "T#a", "sk": "1", "body": body}]


def test_get_many_finds_what_exists_among_any_number_of_keys(table: Table) -> None:
    for start in range(0, 250, 50):
        table.write(*(Put({"pk": f"T#{number % 3}", "sk": f"{number:03}", "n": number}) for number in range(start, start + 50)))
    keys = [Key(f"T#{number % 3}", f"{number:03}") for number in range(300)]
    found = table.get_many([*keys, *keys[:20]])
    assert {key: item["n"] for key, item in found.items()} == {key: number for number, key in enumerate(keys[:250])}


def test_get_many_reads_more_than_one_answer_holds(table: Table) -> None:
    for number in range(60):
        table.write(Put({"pk": "T#a", "sk": f"{number:03}", "body": "x" * 300_000}))
    found = table.get_many([Key("T#a", f"{number:03}") for number in range(60)])
    assert len(found) == 60
    assert all(len(str(item["body"])) == 300_000 for item in found.values())
