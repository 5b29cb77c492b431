"""What every engine refuses before it writes anything, so that all refuse alike.

Knows: DynamoDB's limits on keys, items and transactions. Must not know: any engine.

What grows with the user's data (too many changes, too many bytes, too long a key) is `TooLarge`. What no data can excuse (an
empty key, the same key twice, a comparison that has no meaning) is a mistake of the caller's: `ValueError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hibernaut.ports.storage.table import (
    MAX_BYTES,
    MAX_CHANGES,
    MAX_ITEM_BYTES,
    Change,
    Check,
    Condition,
    Index,
    Key,
    Op,
    Put,
    TooLarge,
    Update,
    Value,
)

MAX_KEY_BYTES = 1024
"""UTF-8 bytes of one part of a key (DynamoDB's limit for sort keys; it would allow partition keys twice of that)."""
MAX_STORED_BYTES = 409_600
"""Bytes of an item that updates have let grow: DynamoDB's own limit, which only the engine can see."""
_LARGEST_NUMBER = 10**38

_INDEX_NAMES = frozenset(f"{index}_{part}" for index in Index for part in ("pk", "sk"))
_KEY_NAMES = frozenset(("pk", "sk"))
_ORDERED = frozenset((Op.LT, Op.LE, Op.GT, Op.GE))
_WITHOUT_VALUE = frozenset((Op.EXISTS, Op.MISSING))


def check(changes: Sequence[Change]) -> None:
    """Refuse what no engine takes.

    Raises: TooLarge, ValueError (UnicodeEncodeError, one of its kind, for text that is not valid Unicode).
    """
    if not changes:
        raise ValueError("a write needs at least one change")
    if len(changes) > MAX_CHANGES:
        raise TooLarge(f"{len(changes)} changes in one transaction, at most {MAX_CHANGES}")
    keys = [change.key for change in changes]
    if len(set(keys)) < len(keys):
        raise ValueError("two changes of one transaction name the same key")
    for key in keys:
        check_key(key)
    total = sum(_check_change(change) for change in changes)
    if total > MAX_BYTES:
        raise TooLarge(f"{total} bytes in one transaction, at most {MAX_BYTES}")


def check_key(key: Key) -> None:
    """Both parts hold text, and not too much of it."""
    for part in key:
        _check_key_part(part)


def check_stored(item: Mapping[str, Value]) -> None:
    """Refuse an item that an update would let grow beyond what DynamoDB stores."""
    if (size := _size(item.items())) > MAX_STORED_BYTES:
        raise TooLarge(f"the update makes an item of {size} bytes, at most {MAX_STORED_BYTES}")


def _check_change(change: Change) -> int:
    """The size of the change in bytes."""
    _check_condition(change.when)
    if isinstance(change, Put):
        attributes: Mapping[str, Value] = change.item
    elif isinstance(change, Update):
        _check_update(change)
        attributes = change.set
    else:
        if isinstance(change, Check) and not change.when:
            raise ValueError("a check needs a condition")
        return 0
    for name, value in attributes.items():
        _check_value(name, value)
    if (size := _size(attributes.items())) > MAX_ITEM_BYTES:
        raise TooLarge(f"{size} bytes in one item, at most {MAX_ITEM_BYTES}")
    return size


def _check_update(change: Update) -> None:
    names = [*change.set, *change.add, *change.remove]
    if not names:
        raise ValueError("an update needs something to set, add or remove")
    if len(set(names)) < len(names):
        raise ValueError("an update names the same attribute twice")
    if not _KEY_NAMES.isdisjoint(names):
        raise ValueError("an update cannot change the key")
    for name, value in change.add.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"only an integer can be added to {name}")
        if name in _INDEX_NAMES:
            raise ValueError(f"{name} is a key of an index and holds text")
        _check_value(name, value)


def _check_condition(condition: Condition) -> None:
    for term in condition:
        if (term.value is None) != (term.op in _WITHOUT_VALUE):
            raise ValueError(f"{term.op} on {term.name}: a value is " + ("missing" if term.value is None else "too much"))
        if term.op in _ORDERED and isinstance(term.value, bool):
            raise ValueError(f"{term.op} on {term.name}: truth values have no order")


def _check_value(name: str, value: Value) -> None:
    if not name:
        raise ValueError("an attribute needs a name")
    if name in _INDEX_NAMES or name in _KEY_NAMES:
        _check_key_part(value)
    elif isinstance(value, str):
        return
    elif not isinstance(value, int):
        raise ValueError(f"{name} holds neither text nor an integer nor a truth value")
    elif not -_LARGEST_NUMBER < value < _LARGEST_NUMBER:
        raise ValueError(f"{name} has more than 38 digits")


def _check_key_part(part: Value) -> None:
    if not isinstance(part, str) or not part:
        raise ValueError("a part of a key holds text, at least one character")
    if (size := _bytes(part)) > MAX_KEY_BYTES:
        raise TooLarge(f"a part of a key has {size} bytes, at most {MAX_KEY_BYTES}")


def _size(attributes: Iterable[tuple[str, Value]]) -> int:
    """DynamoDB's own count: text by its UTF-8 bytes, names included, two digits of a number to a byte."""
    return sum(_bytes(name) + (_bytes(value) if isinstance(value, str) else _number_bytes(value)) for name, value in attributes)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _number_bytes(value: int) -> int:
    return 1 if isinstance(value, bool) else len(str(abs(value))) // 2 + 2
