"""The semantics of conditions and changes, as pure functions over items.

Knows: the port's comparisons and operations, with DynamoDB's semantics. Must not know: where items are stored.
"""

from __future__ import annotations

from typing import assert_never

from hibernaut.ports.storage.table import Change, Check, Condition, Delete, Item, Op, Put, Term, Update, Value


def holds(condition: Condition, item: Item | None) -> bool:
    """Do all terms hold of the item (None: there is none)?"""
    return all(_term_holds(term, None if item is None else item.get(term.name)) for term in condition)


def applied(change: Change, item: Item | None) -> Item | None:
    """What stands there after the change (None: nothing).

    Raises: ValueError where an update adds to something that is not an integer.
    """
    match change:
        case Put():
            return change.item
        case Update():
            return _updated(change, item)
        case Delete():
            return None
        case Check():
            return item
        case _:
            assert_never(change)


def _updated(change: Update, item: Item | None) -> Item:
    new: dict[str, Value] = {"pk": change.key.pk, "sk": change.key.sk} if item is None else dict(item)
    new.update(change.set)
    for name, count in change.add.items():
        before = new.get(name, 0)
        if isinstance(before, (bool, str)):
            raise ValueError(f"{name} does not hold an integer to add to")
        new[name] = before + count
    for name in change.remove:
        new.pop(name, None)
    return new


def _term_holds(term: Term, have: Value | None) -> bool:
    match term.op:
        case Op.EXISTS:
            return have is not None
        case Op.MISSING:
            return have is None
        case Op.NE:
            return not _same(have, term.value)
        case Op.EQ:
            return _same(have, term.value)
        case Op.LT | Op.LE | Op.GT | Op.GE:
            return _in_order(have, term.op, term.value)
        case _:
            assert_never(term.op)


def _kind(value: Value | None) -> type | None:
    """The kind as the table sees it: a truth value is no integer, an enumeration's text is text."""
    if isinstance(value, str):
        return str
    if isinstance(value, bool):
        return bool
    return None if value is None else int


def _same(have: Value | None, value: Value | None) -> bool:
    return have == value and _kind(have) is _kind(value)


def _in_order(have: Value | None, op: Op, value: Value | None) -> bool:
    """Text is ordered by its code points, which is the order of its UTF-8 bytes. `limits` has refused to order truth values."""
    kind = _kind(have)
    if kind is not _kind(value):
        return False
    less, equal = (str(have) < str(value) if kind is str else int(have or 0) < int(value or 0)), have == value
    match op:
        case Op.LT:
            return less
        case Op.LE:
            return less or equal
        case Op.GT:
            return not less and not equal
        case _:
            return not less
