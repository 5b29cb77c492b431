"""What conditions mean, on every engine."""

from __future__ import annotations

import pytest

from hibernaut.ports.storage.table import (
    ABSENT,
    PRESENT,
    Check,
    Condition,
    ConditionFailed,
    Delete,
    Key,
    Op,
    Put,
    Table,
    Term,
    Update,
    Value,
    eq,
)

HERE = Key("T#a", "here")
STANDING: dict[str, Value] = {
    "pk": "T#a",
    "sk": "here",
    "n": 10,
    "s": "m",
    "yes": True,
    "empty": "",
    "negative": -5,
    "big": 10**37,
}


def holds(table: Table, condition: Condition) -> bool:
    table.write(Put(STANDING))
    try:
        table.write(Check(HERE, condition))
    except ConditionFailed:
        return False
    return True


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (Term("n", Op.EQ, 10), True),
        (Term("n", Op.EQ, 11), False),
        (Term("n", Op.NE, 11), True),
        (Term("n", Op.NE, 10), False),
        (Term("n", Op.LT, 11), True),
        (Term("n", Op.LT, 10), False),
        (Term("n", Op.LE, 10), True),
        (Term("n", Op.LE, 9), False),
        (Term("n", Op.GT, 9), True),
        (Term("n", Op.GT, 10), False),
        (Term("n", Op.GE, 10), True),
        (Term("n", Op.GE, 11), False),
        (Term("negative", Op.LT, -4), True),
        (Term("big", Op.GT, 10**36), True),
        (Term("s", Op.EQ, "m"), True),
        (Term("s", Op.LT, "n"), True),
        (Term("s", Op.LT, "m"), False),
        (Term("s", Op.LE, "m"), True),
        (Term("s", Op.GT, "l"), True),
        (Term("s", Op.GE, "n"), False),
        (Term("s", Op.LT, "é"), True),
        (Term("empty", Op.LT, "a"), True),
        (Term("yes", Op.EQ, True), True),
        (Term("yes", Op.EQ, False), False),
        (Term("yes", Op.NE, False), True),
        (Term("n", Op.EXISTS), True),
        (Term("n", Op.MISSING), False),
        (Term("gone", Op.EXISTS), False),
        (Term("gone", Op.MISSING), True),
        (Term("empty", Op.EXISTS), True),
    ],
)
def test_a_term_compares_the_attribute_with_its_value(table: Table, term: Term, expected: bool) -> None:
    assert holds(table, (term,)) is expected


@pytest.mark.parametrize("op", [Op.EQ, Op.LT, Op.LE, Op.GT, Op.GE])
def test_a_comparison_with_an_attribute_that_is_not_there_is_false(table: Table, op: Op) -> None:
    assert not holds(table, (Term("gone", op, "x"),))


def test_an_attribute_that_is_not_there_differs_from_every_value(table: Table) -> None:
    assert holds(table, (Term("gone", Op.NE, "x"),))


@pytest.mark.parametrize(("name", "value"), [("n", "10"), ("s", 10), ("yes", 1), ("n", True)])
def test_values_of_different_kinds_are_never_equal(table: Table, name: str, value: Value) -> None:
    assert not holds(table, (Term(name, Op.EQ, value),))
    assert holds(table, (Term(name, Op.NE, value),))


@pytest.mark.parametrize(("name", "value"), [("n", "10"), ("s", 10), ("yes", 1), ("yes", "a")])
@pytest.mark.parametrize("op", [Op.LT, Op.GE])
def test_values_of_different_kinds_have_no_order(table: Table, name: str, value: Value, op: Op) -> None:
    assert not holds(table, (Term(name, op, value),))


def test_all_terms_must_hold(table: Table) -> None:
    assert holds(table, eq(n=10, s="m"))
    assert not holds(table, eq(n=10, s="other"))


def test_two_terms_may_name_the_same_attribute(table: Table) -> None:
    assert holds(table, (Term("n", Op.GT, 9), Term("n", Op.LT, 11)))
    assert not holds(table, (Term("n", Op.GT, 9), Term("n", Op.LT, 10)))


@pytest.mark.parametrize("name", ["status", "name", "size", "ttl", "a b", "a.b", "a-b", "#a", "é"])
def test_any_name_may_be_conditioned_set_and_asked_for(table: Table, name: str) -> None:
    table.write(Put({"pk": "T#a", "sk": "here", name: "x"}))
    table.write(Update(HERE, set={name: "y"}, when=eq(**{name: "x"})))
    assert table.query("T#a", names=(name,)) == [{"pk": "T#a", "sk": "here", name: "y"}]


def test_absent_holds_only_where_there_is_no_item(table: Table) -> None:
    table.write(Put({"pk": "T#a", "sk": "here", "n": 1}, when=ABSENT))
    with pytest.raises(ConditionFailed):
        table.write(Put({"pk": "T#a", "sk": "here", "n": 2}, when=ABSENT))
    assert table.get(HERE) == {"pk": "T#a", "sk": "here", "n": 1}


def test_present_holds_only_where_there_is_an_item(table: Table) -> None:
    with pytest.raises(ConditionFailed):
        table.write(Put({"pk": "T#a", "sk": "here"}, when=PRESENT))
    with pytest.raises(ConditionFailed):
        table.write(Check(HERE, PRESENT))
    assert table.get(HERE) is None


@pytest.mark.parametrize(
    "change",
    [
        Put({"pk": "T#a", "sk": "here", "n": 2}, when=eq(n=9)),
        Update(HERE, set={"n": 2}, when=eq(n=9)),
        Delete(HERE, when=eq(n=9)),
        Check(HERE, when=eq(n=9)),
    ],
)
def test_a_failed_condition_tells_the_item_as_it_stood_and_leaves_it(table: Table, change: Put | Update | Delete | Check) -> None:
    standing = {"pk": "T#a", "sk": "here", "n": 1, "yes": True, "body": '{"x":1}'}
    table.write(Put(standing))
    with pytest.raises(ConditionFailed) as failure:
        table.write(change)
    assert failure.value.failed == {0: standing}
    assert table.get(HERE) == standing


@pytest.mark.parametrize(
    "change", [Update(HERE, set={"n": 2}, when=PRESENT), Delete(HERE, when=PRESENT), Check(HERE, when=PRESENT)]
)
def test_a_condition_that_fails_on_nothing_tells_nothing(table: Table, change: Update | Delete | Check) -> None:
    with pytest.raises(ConditionFailed) as failure:
        table.write(change)
    assert failure.value.failed == {0: None}


def test_a_transaction_tells_every_failed_condition_by_its_place(table: Table) -> None:
    first, third = {"pk": "T#a", "sk": "1", "n": 1}, {"pk": "T#b", "sk": "3", "body": "text"}
    table.write(Put(first), Put(third))
    with pytest.raises(ConditionFailed) as failure:
        table.write(
            Put({"pk": "T#a", "sk": "0"}, when=ABSENT),
            Update(Key("T#a", "1"), add={"n": 1}, when=eq(n=7)),
            Put({"pk": "T#a", "sk": "2"}),
            Delete(Key("T#b", "3"), when=eq(body="other")),
            Check(Key("T#c", "4"), PRESENT),
        )
    assert failure.value.failed == {1: first, 3: third, 4: None}
