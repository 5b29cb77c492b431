"""How an item lies in a row of SQLite.

Knows: the columns. Must not know: connections, transactions, conditions.

The key, the places in the indexes and the ttl are columns of their own; all attributes but key and body are one JSON text, in the
order of their names, so that equal items have equal rows; `body`, usually by far the largest, stands beside it where it is text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hibernaut.adapters.table.bounds import Bounds
from hibernaut.adapters.table.limits import MAX_KEY_BYTES
from hibernaut.ports.storage.table import Item, Key, Value

FORMAT = 1
SCHEMA = f"""
BEGIN;
CREATE TABLE items (
    pk TEXT NOT NULL, sk TEXT NOT NULL, due_pk TEXT, due_sk TEXT, list_pk TEXT, list_sk TEXT, ttl INTEGER,
    attributes TEXT NOT NULL, body TEXT,
    PRIMARY KEY (pk, sk)
) WITHOUT ROWID;
CREATE INDEX due ON items (due_pk, due_sk) WHERE due_pk IS NOT NULL AND due_sk IS NOT NULL;
CREATE INDEX list ON items (list_pk, list_sk) WHERE list_pk IS NOT NULL AND list_sk IS NOT NULL;
CREATE INDEX expiring ON items (ttl) WHERE ttl IS NOT NULL;
CREATE TABLE told (
    cursor INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, pk TEXT NOT NULL, sk TEXT NOT NULL,
    old_attributes TEXT, old_body TEXT, new_attributes TEXT, new_body TEXT
);
PRAGMA user_version = {FORMAT};
COMMIT;
"""
"""The table `told` is empty. Release 0.1 copies each changed item there, and could not use a file without it."""

Stored = tuple[str, str | None]
"""The texts of an item: its attributes as JSON, and its body."""
Row = tuple[str, str, str | None, str | None, str | None, str | None, int | None, str, str | None]
"""All columns of `items`."""

_LARGEST_TTL = 2**63 - 1
_PLACES = ("due_pk", "due_sk", "list_pk", "list_sk")
_APART = frozenset(("pk", "sk", "body"))
_MOST_OVERHEAD = len("pk" + "sk" + "body") + 2 * MAX_KEY_BYTES
"""Bytes of an item's keys, at most, and of the names that stand in no JSON text."""
_encode = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode


def row(item: Item) -> Row:
    """The item as a row."""
    body = item.get("body")
    text = body if isinstance(body, str) else None
    attributes = {name: value for name, value in item.items() if name not in _APART}
    if body is not None and text is None:
        attributes["body"] = body
    due_pk, due_sk, list_pk, list_sk = (place if isinstance(place, str) else None for place in map(item.get, _PLACES))
    ttl = item.get("ttl")
    return (
        str(item["pk"]),
        str(item["sk"]),
        due_pk,
        due_sk,
        list_pk,
        list_sk,
        ttl if isinstance(ttl, int) and not isinstance(ttl, bool) and abs(ttl) <= _LARGEST_TTL else None,
        _encode(attributes),
        text,
    )


def most_bytes(whole: Row) -> int:
    """Bytes that the item of a row does not exceed by DynamoDB's count (`limits`), without a look at each attribute: in the JSON
    text, which is ASCII, every attribute takes at least as much.
    """
    attributes, body = whole[-2:]
    return _MOST_OVERHEAD + len(attributes) + 4 * len(body or "")


def item(pk: str, sk: str, stored: Stored) -> dict[str, Value]:
    """The item of a row."""
    attributes, body = stored
    found: dict[str, Value] = json.loads(attributes)
    found["pk"] = pk
    found["sk"] = sk
    if body is not None:
        found["body"] = body
    return found


def items(pk: str, rows: Sequence[tuple[str, str, str | None]], names: Sequence[str]) -> list[Item]:
    """The items of one partition, from rows of sort key, attributes and body. With `names`, only those attributes and the key."""
    decoded = _decoded([attributes for _, attributes, _ in rows])
    for found, (sk, _, body) in zip(decoded, rows, strict=True):
        found["pk"] = pk
        found["sk"] = sk
        if body is not None:
            found["body"] = body
    if not names:
        return list(decoded)
    selected = dict.fromkeys(("pk", "sk", *names))
    return [{name: found[name] for name in selected if name in found} for found in decoded]


def keyed(rows: Sequence[tuple[str, str, str, str | None]]) -> dict[Key, Item]:
    """Items by their keys, from rows of partition key, sort key, attributes and body."""
    decoded = _decoded([attributes for _, _, attributes, _ in rows])
    for found, (pk, sk, _, body) in zip(decoded, rows, strict=True):
        found["pk"] = pk
        found["sk"] = sk
        if body is not None:
            found["body"] = body
    return {Key(pk, sk): found for found, (pk, sk, _, _) in zip(decoded, rows, strict=True)}


def _decoded(attributes: Sequence[str]) -> list[dict[str, Value]]:
    """All in one call, which is several times as fast as one by one."""
    found: list[dict[str, Value]] = json.loads(f"[{','.join(attributes)}]")
    return found


def places(count: int, columns: int) -> str:
    """Placeholders for `count` rows of `columns` values."""
    return ",".join([f"({','.join('?' * columns)})"] * count)


def flat(rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    """The values of all rows, one after the other."""
    return [value for one in rows for value in one]


def within(names: tuple[str, str], pk: str, key_range: Bounds) -> tuple[str, list[str]]:
    """The WHERE of a range of one partition, and its values; `names` are the columns of the key."""
    where, values = f"{names[0]} = ?", [pk]
    if key_range.low is not None:
        where += f" AND {names[1]} {'>=' if key_range.low_included else '>'} ?"
        values.append(key_range.low)
    if key_range.high is not None:
        where += f" AND {names[1]} < ?"
        values.append(key_range.high)
    return where, values
