"""The change stream that feeds the deployed functions: what Lambda is told of each write."""

from __future__ import annotations

from hibernaut.adapters.table.dynamodb_stream import ChangeRecord
from hibernaut.ports.storage.table import ABSENT, Check, ConditionFailed, Delete, Item, Key, Put, Update, eq
from tests.contracts.table.conftest import Streamed

A, B = Key("T#a", "1"), Key("T#b", "1")


def told(records: list[ChangeRecord], key: Key) -> list[tuple[Item | None, Item | None]]:
    return [(record.old, record.new) for record in records if record.key == key]


def test_nothing_is_told_of_an_untouched_table(streamed: Streamed) -> None:
    assert streamed.changes() == []


def test_every_change_is_told_with_the_item_before_and_after(streamed: Streamed) -> None:
    first, second = {"pk": "T#a", "sk": "1", "n": 1, "body": "x"}, {"pk": "T#a", "sk": "1", "n": 2, "body": "x"}
    streamed.table.write(Put(first))
    streamed.table.write(Update(A, add={"n": 1}))
    streamed.table.write(Put({"pk": "T#a", "sk": "1", "yes": True}))
    streamed.table.write(Delete(A))
    third = {"pk": "T#a", "sk": "1", "yes": True}
    assert told(streamed.changes(), A) == [(None, first), (first, second), (second, third), (third, None)]


def test_an_update_that_makes_its_item_is_told_once(streamed: Streamed) -> None:
    streamed.table.write(Update(A, set={"n": 1}))
    assert told(streamed.changes(), A) == [(None, {"pk": "T#a", "sk": "1", "n": 1})]


def test_each_item_of_a_transaction_is_told(streamed: Streamed) -> None:
    streamed.table.write(Put({"pk": "T#b", "sk": "1"}))
    streamed.table.write(Put({"pk": "T#a", "sk": "1"}), Delete(B), Check(Key("T#c", "1"), ABSENT))
    records = streamed.changes()
    assert told(records, A) == [(None, {"pk": "T#a", "sk": "1"})]
    assert told(records, B)[1:] == [({"pk": "T#b", "sk": "1"}, None)]
    assert len(records) == 3


def test_what_was_refused_is_not_told(streamed: Streamed) -> None:
    streamed.table.write(Put({"pk": "T#a", "sk": "1", "n": 1}))
    for changes in (
        [Update(A, add={"n": 1}, when=eq(n=7))],
        [Put({"pk": "T#b", "sk": "1"}), Update(A, add={"n": 1}, when=eq(n=7))],
    ):
        try:
            streamed.table.write(*changes)
        except ConditionFailed:
            continue
    assert len(streamed.changes()) == 1


def test_what_has_no_effect_is_not_told(streamed: Streamed) -> None:
    item = {"pk": "T#a", "sk": "1", "n": 1, "s": "x"}
    streamed.table.write(Put(item))
    streamed.table.write(Put(dict(reversed(item.items()))))
    streamed.table.write(Update(A, set={"s": "x"}, remove=("never",)))
    streamed.table.write(Delete(B))
    streamed.table.write(Put(item), Delete(B), Check(Key("T#c", "1"), ABSENT))
    assert told(streamed.changes(), A) == [(None, item)]
    assert told(streamed.changes(), B) == []


def test_a_truth_value_in_the_place_of_a_number_is_a_change(streamed: Streamed) -> None:
    streamed.table.write(Put({"pk": "T#a", "sk": "1", "x": 1}))
    streamed.table.write(Put({"pk": "T#a", "sk": "1", "x": True}))
    assert len(streamed.changes()) == 2
