"""What every engine refuses before it writes anything, so that all refuse alike.

Knows: DynamoDB's limits on keys, items and transactions. Must not know: any engine.

What grows with the user's data (too many changes, too many bytes, too long a key) is `TooLarge`. What no data can excuse (an
empty key, the same key twice, a comparison that has no meaning) is a mistake of the caller's: `ValueError`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
_KEYS = _INDEX_NAMES | _KEY_NAMES
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
    total = 0
    for change in changes:
        total += _checked_size(change)
    if total > MAX_BYTES:
        raise TooLarge(f"{total} bytes in one transaction, at most {MAX_BYTES}")


def check_key(key: Key) -> None:
    """Both parts hold text, and not too much of it."""
    for part in key:
        _check_key_part(part)


def check_stored(item: Mapping[str, Value], most: int) -> None:
    """Refuse an item that an update would let grow beyond what DynamoDB stores. `most`: bytes that it does not exceed. The item
    is measured only if `most` is beyond the limit.
    """
    if most > MAX_STORED_BYTES and (size := item_bytes(item)) > MAX_STORED_BYTES:
        raise TooLarge(f"the update makes an item of {size} bytes, at most {MAX_STORED_BYTES}")


def _checked_size(change: Change) -> int:
    """The size of the change in bytes."""
    _check_condition(change.when)
    if isinstance(change, Put):
        size = item_bytes(change.item)
    elif isinstance(change, Update):
        _check_update(change)
        size = item_bytes(change.set)
    else:
        if isinstance(change, Check) and not change.when:
            raise ValueError("a check needs a condition")
        return 0
    if size > MAX_ITEM_BYTES:
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
        _number_bytes(name, value)


def _check_condition(condition: Condition) -> None:
    for term in condition:
        if (term.value is None) != (term.op in _WITHOUT_VALUE):
            raise ValueError(f"{term.op} on {term.name}: a value is " + ("missing" if term.value is None else "too much"))
        if term.op in _ORDERED and isinstance(term.value, bool):
            raise ValueError(f"{term.op} on {term.name}: truth values have no order")


def _check_key_part(part: Value) -> int:
    """The bytes of a part of a key."""
    if not isinstance(part, str) or not part:
        raise ValueError("a part of a key holds text, at least one character")
    size = len(part) if part.isascii() else len(part.encode())
    if size > MAX_KEY_BYTES:
        raise TooLarge(f"a part of a key has {size} bytes, at most {MAX_KEY_BYTES}")
    return size


def item_bytes(attributes: Mapping[str, Value]) -> int:
    """The bytes of the attributes by DynamoDB's own count: text by its UTF-8 bytes, names included, two digits of a number to a
    byte.

    Each attribute is checked. This is one loop, because every attribute of every write passes it.
    """
    size = 0
    for name, value in attributes.items():
        if not name:
            raise ValueError("an attribute needs a name")
        size += len(name) if name.isascii() else len(name.encode())
        if name in _KEYS:
            size += _check_key_part(value)
        elif isinstance(value, str):
            size += len(value) if value.isascii() else len(value.encode())
        else:
            size += _number_bytes(name, value)
    return size


def _number_bytes(name: str, value: Value) -> int:
    """The bytes of an integer or a truth value."""
    if isinstance(value, bool):
        return 1
    if not isinstance(value, int):
        raise ValueError(f"{name} holds neither text nor an integer nor a truth value")
    if not -_LARGEST_NUMBER < value < _LARGEST_NUMBER:
        raise ValueError(f"{name} has more than 38 digits")
    return len(str(abs(value))) // 2 + 2
