"""What the doubles do beyond the port: the misbehaviour that they were made for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.ports.storage.table import ABSENT, ConditionFailed, Delete, Index, Item, Key, OutcomeUnknown, Put, Update, eq
from tests.support.tables import CountingTable, LosesResponses, RevealsSlowly

A, B, C = Key("T#a", "1"), Key("T#a", "2"), Key("T#a", "3")


@pytest.fixture
def truth(tmp_path: Path) -> Iterator[SqliteTable]:
    table = SqliteTable(tmp_path / "table.db")
    yield table
    table.close()


def put(key: Key, n: int) -> Put:
    return Put({"pk": key.pk, "sk": key.sk, "n": n})


def test_a_lost_answer_leaves_the_write_done(truth: SqliteTable) -> None:
    table = LosesResponses(truth, after=[2])
    table.write(put(A, 1))
    with pytest.raises(OutcomeUnknown):
        table.write(put(A, 2))
    assert truth.get(A) == {"pk": "T#a", "sk": "1", "n": 2}
    table.write(put(A, 3))


def test_a_lost_request_leaves_the_write_undone(truth: SqliteTable) -> None:
    table = LosesResponses(truth, before=[1])
    with pytest.raises(OutcomeUnknown):
        table.write(put(A, 1))
    assert truth.get(A) is None


def test_a_writer_finds_its_own_token_after_a_lost_answer(truth: SqliteTable) -> None:
    table = LosesResponses(truth, after=[1])
    mine = Put({"pk": "T#a", "sk": "1", "token": "mine"}, when=ABSENT)
    with pytest.raises(OutcomeUnknown):
        table.write(mine)
    with pytest.raises(ConditionFailed) as failure:
        table.write(mine)
    assert (failure.value.failed[0] or {})["token"] == "mine"


def test_a_refusal_is_no_lost_answer(truth: SqliteTable) -> None:
    truth.write(put(A, 1))
    with pytest.raises(ConditionFailed):
        LosesResponses(truth, after=[1]).write(Update(A, add={"n": 1}, when=eq(n=7)))


def test_a_counting_table_tells_every_call_before_and_after(truth: SqliteTable) -> None:
    told: list[tuple[int, str]] = []
    table = CountingTable(truth, lambda number, kind: told.append((number, kind)))
    table.write(put(A, 1))
    table.get(A)
    table.query("T#a", limit=1)
    assert told == [
        (1, "before write"),
        (2, "after write"),
        (3, "before get"),
        (4, "after get"),
        (5, "before query"),
        (6, "after query"),
    ]


@pytest.mark.parametrize(("point", "done"), [(1, False), (2, True)])
def test_what_is_raised_around_a_write_reaches_the_writer(truth: SqliteTable, point: int, done: bool) -> None:
    def die(number: int, _kind: str) -> None:
        if number == point:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        CountingTable(truth, die).write(put(A, 1))
    assert (truth.get(A) is not None) is done


class Watch:
    """Looks at a table at every moment of a slow write."""

    def __init__(self) -> None:
        self.table: RevealsSlowly | None = None
        self.seen: list[list[Item]] = []

    def __call__(self) -> None:
        assert self.table is not None
        found = self.table.query("T#a")
        assert found == sorted(self.table.get_many([A, B, C]).values(), key=lambda item: str(item["sk"]))
        assert found == [item for key in (A, B, C) if (item := self.table.get(key)) is not None]
        self.seen.append(found)


def test_a_transaction_is_revealed_item_by_item_in_the_chosen_order(truth: SqliteTable) -> None:
    watch = Watch()
    truth.write(put(A, 1), put(B, 1))
    watch.table = RevealsSlowly(truth, order=lambda keys: reversed(list(keys)), meanwhile=watch)
    watch.table.write(put(A, 2), Delete(B), put(C, 2))
    numbers = [{item["sk"]: item["n"] for item in found} for found in watch.seen]
    assert numbers == [{"1": 1, "2": 1}, {"1": 1, "2": 1, "3": 2}, {"1": 1, "3": 2}, {"1": 2, "3": 2}]


def test_conditions_see_the_truth_while_readers_see_the_past(truth: SqliteTable) -> None:
    tried: list[object] = []

    def meanwhile() -> None:
        if not tried:
            tried.append(table.get(A))
            with pytest.raises(ConditionFailed):
                table.write(Update(A, add={"n": 1}, when=eq(n=1)))
            table.write(Update(A, add={"n": 1}, when=eq(n=2)))
            tried.append((table.get(A) or {})["n"])

    table = RevealsSlowly(truth, meanwhile=meanwhile)
    truth.write(put(A, 1))
    table.write(put(A, 2), put(B, 2))
    assert tried == [{"pk": "T#a", "sk": "1", "n": 1}, 3]
    assert (table.get(A) or {})["n"] == 3


def test_a_refused_transaction_reveals_nothing(truth: SqliteTable) -> None:
    watch = Watch()
    watch.table = RevealsSlowly(truth, meanwhile=watch)
    with pytest.raises(ConditionFailed):
        watch.table.write(put(A, 1), Update(B, add={"n": 1}, when=eq(n=1)))
    assert watch.seen == []
    assert watch.table.query("T#a") == []


def test_ranges_indexes_and_names_are_kept_while_items_are_hidden(truth: SqliteTable) -> None:
    moments: list[tuple[list[object], list[object]]] = []

    def meanwhile() -> None:
        listed = table.query("L", index=Index.LISTS, descending=True, limit=2)
        ranged = table.query("T#a", after="1", names=("n",), limit=1)
        moments.append(([item["list_sk"] for item in listed], [dict(item) for item in ranged]))

    def listed(key: Key, place: str) -> Put:
        return Put({"pk": key.pk, "sk": key.sk, "n": 1, "body": "b", "list_pk": "L", "list_sk": place})

    truth.write(listed(A, "1"), listed(B, "2"), listed(C, "3"))
    table = RevealsSlowly(truth, meanwhile=meanwhile)
    table.write(listed(C, "0"), Delete(B))
    third = {"pk": "T#a", "sk": "3", "n": 1}
    second = {"pk": "T#a", "sk": "2", "n": 1}
    assert moments == [(["3", "2"], [second]), (["2", "1"], [second]), (["1", "0"], [third])]
