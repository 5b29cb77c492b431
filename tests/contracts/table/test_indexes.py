"""The sparse, keys-only indexes, on every engine."""

from __future__ import annotations

import pytest

from hibernaut.ports.storage.table import Delete, Index, Key, Put, Table, Update

A = Key("T#a", "1")


def found(table: Table, pk: str, index: Index = Index.DUE) -> list[Key]:
    return [Key(str(item["pk"]), str(item["sk"])) for item in table.query(pk, index=index)]


@pytest.mark.parametrize("index", list(Index))
def test_an_index_answers_the_keys_only(table: Table, index: Index) -> None:
    place = {f"{index}_pk": "L", f"{index}_sk": "5"}
    table.write(Put({"pk": "T#a", "sk": "1", "n": 1, "body": "b", "ttl": 4_000_000_000, **place}))
    assert table.query("L", index=index) == [{"pk": "T#a", "sk": "1", **place}]
    assert table.query("L", index=index, names=("n",)) == [{"pk": "T#a", "sk": "1", **place}]


def test_the_two_indexes_know_nothing_of_one_another(table: Table) -> None:
    table.write(Put({"pk": "T#a", "sk": "1", "due_pk": "X", "due_sk": "1", "list_pk": "Y", "list_sk": "1"}))
    assert found(table, "X", Index.DUE) == [A]
    assert found(table, "X", Index.LISTS) == []
    assert found(table, "Y", Index.DUE) == []
    assert table.query("X") == []


def test_an_item_without_both_keys_of_an_index_is_not_in_it(table: Table) -> None:
    table.write(
        Put({"pk": "T#a", "sk": "1"}), Put({"pk": "T#a", "sk": "2", "due_pk": "X"}), Put({"pk": "T#a", "sk": "3", "due_sk": "1"})
    )
    assert found(table, "X") == []


@pytest.mark.parametrize("index", list(Index))
def test_an_update_brings_an_item_into_an_index_moves_it_and_takes_it_out(table: Table, index: Index) -> None:
    pk, sk = f"{index}_pk", f"{index}_sk"
    table.write(Put({"pk": "T#a", "sk": "1", "n": 1}))
    table.write(Update(A, set={pk: "X", sk: "1"}))
    assert found(table, "X", index) == [A]
    table.write(Update(A, set={pk: "Z"}))
    assert (found(table, "X", index), found(table, "Z", index)) == ([], [A])
    table.write(Update(A, set={sk: "9"}))
    assert [item[sk] for item in table.query("Z", index=index)] == ["9"]
    table.write(Update(A, remove=(sk,)))
    assert found(table, "Z", index) == []
    assert table.get(A) == {"pk": "T#a", "sk": "1", "n": 1, pk: "Z"}


def test_replacing_or_deleting_an_item_takes_it_out_of_its_index(table: Table) -> None:
    for sk in "12":
        table.write(Put({"pk": "T#a", "sk": sk, "due_pk": "X", "due_sk": sk}))
    table.write(Put({"pk": "T#a", "sk": "1"}), Delete(Key("T#a", "2")))
    assert found(table, "X") == []


def test_ranges_of_an_index_go_by_its_own_keys(table: Table) -> None:
    for number in range(1, 7):
        table.write(Put({"pk": f"T#{7 - number}", "sk": "head", "list_pk": "L", "list_sk": f"é{number}"}))

    def places(**asked: object) -> list[str]:
        return [str(item["list_sk"]) for item in table.query("L", index=Index.LISTS, **asked)]  # type: ignore[arg-type]

    assert places() == ["é1", "é2", "é3", "é4", "é5", "é6"]
    assert places(after="é1", before="é5") == ["é2", "é3", "é4"]
    assert places(after="é2", limit=2) == ["é3", "é4"]
    assert places(before="é5", limit=2, descending=True) == ["é4", "é3"]
    assert places(prefix="é", after="é5") == ["é6"]
    assert places(prefix="e") == []


def test_items_may_share_a_place_in_an_index(table: Table) -> None:
    for number in range(7):
        table.write(Put({"pk": f"T#{number}", "sk": "head", "list_pk": "L", "list_sk": "same" if number < 5 else f"x{number}"}))
    assert sorted(found(table, "L", Index.LISTS)) == [Key(f"T#{number}", "head") for number in range(7)]
    after = table.query("L", index=Index.LISTS, after="same", before="x6")
    assert [item["pk"] for item in after] == ["T#5"]
    assert len(table.query("L", index=Index.LISTS, after="r", before="x", limit=4)) == 4
