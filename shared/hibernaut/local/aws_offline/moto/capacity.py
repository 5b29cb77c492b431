"""Makes moto's DynamoDB tell the capacity that each request consumes, by DynamoDB's rules.

Knows: the internals of moto's DynamoDB. Must not know: the tables of the product.

Source of the rules: Amazon DynamoDB developer guide, "Read and write operations", "Transactions" and "Global secondary indexes".
moto tells one unit for each single write, and none for transactions, queries and batches. Requests that fail tell nothing, as on
AWS.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any

from hibernaut.local.aws_offline.patching import replace

READ_BYTES, WRITE_BYTES = 4096, 1024
_Wire = Mapping[str, Any]
"""An item: typed values by their names, each moto's `DynamoType` or as on the wire."""
_READS = ("get_item", "query", "batch_get_item")
_WRITES = ("put_item", "update_item", "delete_item")
_TRANSACTION = "transact_write_items"


class _Written(threading.local):
    """The units of the write that this thread makes."""

    units: float = 0


_written = _Written()


def install() -> None:
    """Apply the fix; idempotent."""
    from moto.dynamodb.responses import DynamoHandler

    for name in (*_READS, *_WRITES):
        replace(DynamoHandler, name, functools.partial(_reporting, name))


def transacting(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """moto's handler of transactions, with the consumed capacity in its result."""
    return _reporting(_TRANSACTION, original)


def wrote(changes: Sequence[tuple[Any, _Wire | None, _Wire | None]], *, times: int) -> None:
    """Note the write that this thread makes: the table, the old and the new item of each change. It replaces a write that was
    noted before, which was a part of it. `times`: 2 in a transaction.
    """
    _written.units = sum(_change_units(*change, times) for change in changes)


def _change_units(table: Any, before: _Wire | None, after: _Wire | None, times: int) -> float:
    units = float(times * max(1, ceil(max(size(before), size(after)) / WRITE_BYTES)))
    for index in table.global_indexes:
        names = [part["AttributeName"] for part in index.schema]
        old, new = ([_key(item, name) for name in names] for item in (before, after))
        if old != new:
            # An entry of a keys-only index is one unit; a changed key deletes one entry and writes another.
            units += (None not in old) + (None not in new)
    return units


def size(item: _Wire | None) -> int:
    """The bytes that DynamoDB counts for an item: its names and its values in UTF-8."""
    return sum(len(name.encode()) + _value_size(value) for name, value in (item or {}).items())


def _value_size(typed: Any) -> int:
    kind, value = _typed(typed)
    match kind:
        case "S" | "B":
            return len(value.encode() if isinstance(value, str) else value)
        case "N":
            return ceil(len(str(value).lstrip("-")) / 2) + 1
        case "SS" | "NS" | "BS":
            return sum(_value_size({kind[0]: one}) for one in value)
        case "L":
            return 3 + sum(1 + _value_size(one) for one in value)
        case "M":
            return 3 + len(value) + size(value)
        case _:
            return 1


def _typed(value: Any) -> tuple[str, Any]:
    if isinstance(value, Mapping):
        ((kind, inner),) = value.items()
        return kind, inner
    return value.type, value.value


def _key(item: _Wire | None, name: str) -> Any:
    typed = (item or {}).get(name)
    return None if typed is None else _typed(typed)[1]


def _reporting(name: str, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(original)
    def answered(handler: Any) -> Any:
        _written.units = 0
        answer = original(handler)
        if handler.body.get("ReturnConsumedCapacity", "NONE") != "NONE":
            capacity = _read(name, handler, answer.result) if name in _READS else _wrote(name, handler)
            answer.result["ConsumedCapacity"] = capacity
        return answer

    return answered


def _wrote(name: str, handler: Any) -> Any:
    if name != _TRANSACTION:
        return {"TableName": handler.body["TableName"], "CapacityUnits": _written.units}
    first = next(iter(handler.body["TransactItems"][0].values()))
    return [{"TableName": first["TableName"], "CapacityUnits": _written.units}]


def _read(name: str, handler: Any, result: Mapping[str, Any]) -> Any:
    """The units of a read. A consistent one takes a unit for each 4 KB, an eventually consistent one half of that."""
    if name == "batch_get_item":
        return [_batch(table, request, result) for table, request in handler.body["RequestItems"].items()]
    table = handler.body["TableName"]
    items = [result["Item"]] if result.get("Item") else result.get("Items", ())
    whole = sum(_whole(handler, table, item) for item in items)
    return {"TableName": table, "CapacityUnits": max(1, ceil(whole / READ_BYTES)) * _share(handler.body)}


def _batch(table: str, request: Mapping[str, Any], result: Mapping[str, Any]) -> Mapping[str, Any]:
    """A batch is charged key by key; a key without an item is a unit."""
    found = result["Responses"].get(table, ())
    units = sum(max(1, ceil(size(item) / READ_BYTES)) for item in found) + len(request["Keys"]) - len(found)
    return {"TableName": table, "CapacityUnits": units * _share(request)}


def _share(request: Mapping[str, Any]) -> float:
    return 1 if request.get("ConsistentRead") else 0.5


def _whole(handler: Any, table_name: str, item: _Wire) -> int:
    """The bytes of an item of an answer. A projection of some attributes is charged for the whole item."""
    if not handler.body.get("ProjectionExpression"):
        return size(item)
    table = handler.dynamodb_backend.get_table(table_name)
    keys = {name: item[name] for name in (table.hash_key_attr, table.range_key_attr)}
    return size(handler.dynamodb_backend.get_item(table_name, keys).attrs)
