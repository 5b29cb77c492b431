"""The change stream, on every engine."""

from __future__ import annotations

from hibernaut.ports.storage.table import ABSENT, Check, ConditionFailed, Delete, Item, Key, Put, Record, Table, Update, eq

A, B = Key("T#a", "1"), Key("T#b", "1")


def told(records: list[Record], key: Key) -> list[tuple[Item | None, Item | None]]:
    return [(record.old, record.new) for record in records if record.key == key]


def test_nothing_is_told_of_an_untouched_table(table: Table) -> None:
    assert table.changes() == []


def test_every_change_is_told_with_the_item_before_and_after(table: Table) -> None:
    first, second = {"pk": "T#a", "sk": "1", "n": 1, "body": "x"}, {"pk": "T#a", "sk": "1", "n": 2, "body": "x"}
    table.write(Put(first))
    table.write(Update(A, add={"n": 1}))
    table.write(Put({"pk": "T#a", "sk": "1", "yes": True}))
    table.write(Delete(A))
    third = {"pk": "T#a", "sk": "1", "yes": True}
    assert told(table.changes(), A) == [(None, first), (first, second), (second, third), (third, None)]


def test_an_update_that_makes_its_item_is_told_once(table: Table) -> None:
    table.write(Update(A, set={"n": 1}))
    assert told(table.changes(), A) == [(None, {"pk": "T#a", "sk": "1", "n": 1})]


def test_each_item_of_a_transaction_is_told(table: Table) -> None:
    table.write(Put({"pk": "T#b", "sk": "1"}))
    table.write(Put({"pk": "T#a", "sk": "1"}), Delete(B), Check(Key("T#c", "1"), ABSENT))
    records = table.changes()
    assert told(records, A) == [(None, {"pk": "T#a", "sk": "1"})]
    assert told(records, B)[1:] == [({"pk": "T#b", "sk": "1"}, None)]
    assert len(records) == 3


def test_what_was_refused_is_not_told(table: Table) -> None:
    table.write(Put({"pk": "T#a", "sk": "1", "n": 1}))
    for changes in (
        [Update(A, add={"n": 1}, when=eq(n=7))],
        [Put({"pk": "T#b", "sk": "1"}), Update(A, add={"n": 1}, when=eq(n=7))],
    ):
        try:
            table.write(*changes)
        except ConditionFailed:
            continue
    assert len(table.changes()) == 1


def test_what_has_no_effect_is_not_told(table: Table) -> None:
    item = {"pk": "T#a", "sk": "1", "n": 1, "s": "x"}
    table.write(Put(item))
    table.write(Put(dict(reversed(item.items()))))
    table.write(Update(A, set={"s": "x"}, remove=("never",)))
    table.write(Delete(B))
    table.write(Put(item), Delete(B), Check(Key("T#c", "1"), ABSENT))
    assert told(table.changes(), A) == [(None, item)]
    assert told(table.changes(), B) == []


def test_a_truth_value_in_the_place_of_a_number_is_a_change(table: Table) -> None:
    table.write(Put({"pk": "T#a", "sk": "1", "x": 1}))
    table.write(Put({"pk": "T#a", "sk": "1", "x": True}))
    assert len(table.changes()) == 2


def test_the_stream_goes_on_after_a_cursor(table: Table) -> None:
    for number in range(12):
        table.write(Update(A, set={"n": number}), Update(B, set={"n": number}))
    seen: list[Record] = []
    for _ in range(6):
        page = table.changes(seen[-1].cursor if seen else None, limit=5)
        assert len(page) <= 5
        seen += page
    assert page == []
    for key in (A, B):
        assert [(new or {})["n"] for _, new in told(seen, key)] == list(range(12))
    table.write(Update(A, set={"n": 99}))
    assert [(record.new or {})["n"] for record in table.changes(seen[-1].cursor)] == [99]


def test_a_cursor_of_the_middle_finds_the_rest(table: Table) -> None:
    for number in range(6):
        table.write(Update(A, set={"n": number}))
    third = table.changes()[2]
    assert [(record.new or {})["n"] for record in table.changes(third.cursor)] == [3, 4, 5]
