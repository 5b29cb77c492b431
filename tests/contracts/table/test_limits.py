"""What every engine refuses, and that nothing was done then."""

from __future__ import annotations

import pytest

from hibernaut.ports.storage.table import (
    MAX_ITEM_BYTES,
    Change,
    Check,
    Delete,
    Index,
    Key,
    Op,
    Put,
    Table,
    Term,
    TooLarge,
    Update,
    Value,
)

A = Key("T#a", "1")
OVERHEAD = len("pk") + len("T#a") + len("sk") + len("1") + len("body")


def put(**attributes: Value) -> Put:
    return Put({"pk": "T#a", "sk": "1", **attributes})


def test_more_than_a_hundred_changes_are_too_large(table: Table) -> None:
    with pytest.raises(TooLarge):
        table.write(*(Put({"pk": "T#a", "sk": f"{number:03}"}) for number in range(101)))
    assert table.query("T#a") == []


def test_a_transaction_of_more_than_four_megabytes_is_too_large(table: Table) -> None:
    with pytest.raises(TooLarge):
        table.write(*(Put({"pk": "T#a", "sk": f"{number:03}", "body": "x" * 390_000}) for number in range(11)))
    assert table.query("T#a") == []


def test_a_transaction_just_below_four_megabytes_is_written(table: Table) -> None:
    table.write(*(Put({"pk": "T#a", "sk": f"{number:03}", "body": "x" * 390_000}) for number in range(10)))
    assert len(table.query("T#a", names=("pk",))) == 10


def test_an_item_may_have_all_its_bytes_and_not_one_more(table: Table) -> None:
    table.write(put(body="x" * (MAX_ITEM_BYTES - OVERHEAD)))
    with pytest.raises(TooLarge):
        table.write(put(body="y" * (MAX_ITEM_BYTES - OVERHEAD + 1)))
    assert str((table.get(A) or {})["body"])[0] == "x"


def test_bytes_are_counted_not_characters(table: Table) -> None:
    with pytest.raises(TooLarge):
        table.write(put(body="é" * (MAX_ITEM_BYTES // 2)))


def test_an_update_cannot_let_an_item_grow_too_large(table: Table) -> None:
    table.write(put(body="x" * 300_000))
    with pytest.raises(TooLarge):
        table.write(Update(A, set={"more": "y" * 200_000}))
    with pytest.raises(TooLarge):
        table.write(Update(A, set={"more": "y" * 200_000}), Put({"pk": "T#a", "sk": "2"}))
    assert [set(item) for item in table.query("T#a")] == [{"pk", "sk", "body"}]


@pytest.mark.parametrize("key", [Key("p" * 1025, "1"), Key("T#a", "s" * 1025), Key("T#a", "é" * 513)])
def test_a_key_that_is_too_long_is_too_large(table: Table, key: Key) -> None:
    with pytest.raises(TooLarge):
        table.write(Put({"pk": key.pk, "sk": key.sk}))


def test_a_key_may_have_all_its_bytes(table: Table) -> None:
    table.write(Put({"pk": "p" * 1024, "sk": "é" * 512}))
    assert table.get(Key("p" * 1024, "é" * 512)) is not None


@pytest.mark.parametrize("key", [Key("", "1"), Key("T#a", "")])
@pytest.mark.parametrize("make", [lambda key: Put({"pk": key.pk, "sk": key.sk}), Delete, lambda key: Update(key, set={"n": 1})])
def test_a_key_without_text_is_a_mistake(table: Table, key: Key, make: type[Delete]) -> None:
    with pytest.raises(ValueError, match="key"):
        table.write(make(key))
    with pytest.raises(ValueError, match="key"):
        table.write(Put({"pk": "T#a", "sk": "2"}), make(key))
    assert table.get(Key("T#a", "2")) is None


@pytest.mark.parametrize(
    "changes",
    [
        (),
        (put(n=1), Delete(A)),
        (put(n=1), Check(A, (Term("n", Op.EXISTS),))),
        (Check(A, ()),),
        (Update(A),),
        (Update(A, set={"n": 1}, add={"n": 1}),),
        (Update(A, set={"n": 1}, remove=("n",)),),
        (Update(A, set={"sk": "2"}),),
        (Update(A, add={"n": True}),),
        (Update(A, add={"due_sk": 1}),),
        (put(n=10**38),),
        (put(n=-(10**38)),),
        (put(list_pk=""),),
        (put(list_sk=3),),
        (Update(A, set={"due_pk": ""}),),
        (put(text="\ud800"),),
        (put(n=1.5),),  # type: ignore[arg-type]
        (Check(A, (Term("n", Op.EQ),)),),
        (Check(A, (Term("n", Op.EXISTS, 1),)),),
        (Check(A, (Term("n", Op.LT, True),)),),
    ],
    ids=str,
)
def test_a_write_without_meaning_is_a_mistake(table: Table, changes: tuple[Change, ...]) -> None:
    with pytest.raises(ValueError, match=r"."):
        table.write(*changes)
    assert table.get(A) is None


def test_the_places_in_an_index_are_limited_like_keys(table: Table) -> None:
    with pytest.raises(TooLarge):
        table.write(put(list_pk="L", list_sk="s" * 1025))
    table.write(put(list_pk="L", list_sk="s" * 1024))
    assert len(table.query("L", index=Index.LISTS)) == 1
