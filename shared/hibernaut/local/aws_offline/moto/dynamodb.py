"""Fixes of moto's DynamoDB: atomic writes, one stream record for each change, and fast queries.

Knows: the internals of moto's DynamoDB. Must not know: the tables of the product.

Without these fixes
- concurrent writes interfere: RuntimeError, or one transaction's roll-back discards another's writes, because every transaction
  copies whole tables and restores the copies when it fails;
- the stream reports writes that a failed transaction rolled back, reports an update that creates its item twice, and reports
  writes without effect. A reader during a write sees these records, under sequence numbers that other records get later;
- a repeated ClientRequestToken executes its transaction again;
- a condition that compares values of different types fails with an error (text and number), or treats True as 1;
- moto's generic serializer takes most of the time of a query, of a scan, and of reading the stream, and before a query it sorts
  the whole table;
- every request looks through all methods of its service.
"""

from __future__ import annotations

import base64
import copy
import functools
import hashlib
import inspect
import json
import threading
from calendar import timegm
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from hibernaut.local.aws_offline.moto.capacity import transacting, wrote
from hibernaut.local.aws_offline.patching import put, replace

_LISTENER = "hibernaut_listener"
_BY_VALUE = "hibernaut_by_value"
_MOST_TOKENS = 1000
_READS = ("get_item", "query", "scan", "transact_get_items")
_Place = tuple[Any, Any, Any]
"""A table name, and the hash and range key of an item."""


def install() -> None:
    """Apply all fixes; idempotent."""
    from moto.core import responses as core_responses
    from moto.dynamodb.comparisons import COMPARATOR_CLASS
    from moto.dynamodb.models import DynamoDBBackend
    from moto.dynamodb.models.table import Table
    from moto.dynamodb.responses import DynamoHandler, DynamoResult
    from moto.dynamodbstreams.models import DynamoDBStreamsBackend
    from moto.dynamodbstreams.responses import DynamoDBStreamsHandler

    turn = threading.RLock()
    for name in _READS:
        replace(DynamoDBBackend, name, lambda original: _in_turn(turn, original))
    replace(DynamoDBStreamsBackend, "get_records", lambda original: _in_turn(turn, original))
    for name in ("put_item", "update_item", "delete_item"):
        replace(DynamoDBBackend, name, lambda original: _single_write(turn, original))
    replace(DynamoDBBackend, "transact_write_items", lambda original: _transaction(turn, original))
    replace(Table, "query", _in_one_partition)
    # moto's own roll-back copies each table and puts the copy back; with the table itself as the copy, both do nothing.
    put(Table, "__deepcopy__", lambda table, _: table)
    for sign, comparison in COMPARATOR_CLASS.items():
        replace(comparison, "expr", _of_one_kind if sign != "<>" else _or_of_two_kinds)
    replace(DynamoHandler, "transact_write_items", lambda original: _once_per_token(transacting(original)))
    replace(DynamoResult, "execute_result", _quick_serializer)
    replace(DynamoDBStreamsHandler, "get_records", _quickly_serialized)
    replace(core_responses, "method_names_from_class", functools.cache)


@contextmanager
def listen_to_changes(listener: Callable[[dict[str, Any]], None]) -> Iterator[None]:
    """Within the context, `listener` is called for each record of a change stream, during the write, which may still be undone.
    The listener must read the stream itself.
    """
    from moto.dynamodb.models.table import StreamShard

    original = StreamShard.add

    def add(shard: Any, old: Any, new: Any) -> None:
        original(shard, old, new)
        listener(shard.items[-1].to_json())

    put(StreamShard, "add", add)
    try:
        yield
    finally:
        put(StreamShard, "add", original)


@contextmanager
def listen_to_writes(listener: Callable[[list[tuple[str, list[Any], Any]]], None]) -> Iterator[None]:
    """Within the context, `listener` is called after each write, before its response and before the next write, with the table,
    the key, and the new item (None: deleted) of each change.
    """
    from moto.dynamodb.models.table import Table

    put(Table, _LISTENER, staticmethod(listener))
    try:
        yield
    finally:
        delattr(Table, _LISTENER)


class _Nesting(threading.local):
    """How many writes of this thread are under way, one within the other: a transaction makes writes of its own."""

    depth: int = 0


_nesting = _Nesting()


def _in_turn(turn: threading.RLock, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def locked(*args: Any, **kwargs: Any) -> Any:
        with turn:
            return original(*args, **kwargs)

    return locked


def _single_write(turn: threading.RLock, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def write(backend: Any, table_name: str, key_or_item: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        with turn, _as_one(_places(backend, [(table_name, key_or_item)]), times=1):
            return original(backend, table_name, key_or_item, *args, **kwargs)

    return write


def _transaction(turn: threading.RLock, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def transact(backend: Any, transact_items: list[dict[str, Any]]) -> Any:
        operations = [operation for item in transact_items for operation in item.values()]
        named = [
            (operation.get("TableName", ""), operation.get("Item") or operation.get("Key") or {}) for operation in operations
        ]
        with turn, _as_one(_places(backend, named), times=2):
            return original(backend, transact_items)

    return transact


def _places(backend: Any, named: Sequence[tuple[str, dict[str, Any]]]) -> list[_Place]:
    """The items that a write names; moto itself refuses a write that names none."""
    from moto.dynamodb.models.dynamo_type import DynamoType

    places: list[_Place] = []
    for table_name, attributes in named:
        table = backend.tables.get(table_name)
        if table is not None and {table.hash_key_attr, table.range_key_attr} - {None} <= set(attributes):
            hash_key = DynamoType(attributes[table.hash_key_attr])
            range_key = DynamoType(attributes[table.range_key_attr]) if table.range_key_attr else None
            places.append((table, hash_key, range_key))
    return places


@contextmanager
def _as_one(places: list[_Place], *, times: int) -> Iterator[None]:
    """Treat the operations in the context as one write: an exception undoes them, and the stream gets their net effect, item by
    item, at the end. `times`: how often its units are charged.
    """
    before = [(place, copy.deepcopy(_item(place))) for place in places]
    shards = {id(table): (table.stream_shard, len(table.stream_shard.items)) for table, _, _ in places if table.stream_shard}
    done = False
    _nesting.depth += 1
    try:
        yield
        done = True
    finally:
        _nesting.depth -= 1
        for shard, length in shards.values():
            del shard.items[length:]
        if done:
            wrote([(place[0], _attrs(old), _attrs(_item(place))) for place, old in before], times=times)
        for place, old in before:
            current = _item(place)
            if not done:
                _put_back(place, old)
            _note(place, old, current)
            if done and place[0].stream_shard and _attributes(old) != _attributes(_item(place)):
                place[0].stream_shard.add(old, _item(place))
        if done and not _nesting.depth:
            _tell_of_write([place for place, _ in before])


def _tell_of_write(places: list[_Place]) -> None:
    listener = getattr(places[0][0], _LISTENER, None) if places else None
    if listener is not None:
        keys = [[hash_key.value, None if range_key is None else range_key.value] for _, hash_key, range_key in places]
        listener([(place[0].name, key, _attributes(_item(place))) for place, key in zip(places, keys, strict=True)])


def _item(place: _Place) -> Any:
    table, hash_key, range_key = place
    return table.items.get(hash_key, {}).get(range_key) if range_key is not None else table.items.get(hash_key)


def _put_back(place: _Place, old: Any) -> None:
    table, hash_key, range_key = place
    items, key = (table.items[hash_key], range_key) if range_key is not None else (table.items, hash_key)
    if old is None:
        items.pop(key, None)
    else:
        items[key] = old


def _attrs(item: Any) -> Any:
    return None if item is None else item.attrs


def _attributes(item: Any) -> Any:
    return None if item is None else item.to_json()["Attributes"]


def _in_one_partition(original: Callable[..., Any]) -> Callable[..., Any]:
    """Offer moto's query the items of its partition as if they were the whole table. The caller holds the lock of all reads."""
    bind = inspect.signature(original).bind

    @functools.wraps(original)
    def query(table: Any, *args: Any, **kwargs: Any) -> Any:
        arguments = bind(table, *args, **kwargs).arguments
        found = _partition(table, arguments) if table.range_key_attr else None
        if found is None:
            return original(table, *args, **kwargs)
        put(table, "all_items", lambda: found)
        try:
            return original(table, *args, **kwargs)
        finally:
            del table.all_items

    return query


def _partition(table: Any, arguments: Mapping[str, Any]) -> list[Any] | None:
    """The items of the partition of the table, or of an index by texts, that a query names; None for another index."""
    if not arguments.get("index_name"):
        partition = table.items.get(arguments["hash_key"], {})
        # moto sorts them again, which takes little if they are in order: its comparisons are slow.
        return [partition[key] for key in sorted(partition, key=lambda key: key.value)]
    named = dict(arguments.get("hash_key_conditions") or [])
    if not named or any(condition.type != "S" for condition in named.values()):
        return None
    (first, condition), *others = named.items()
    items = list(_by_value(table, first).get(condition.value, {}).values())
    for name, condition in others:
        items = [item for item in items if (has := item.attrs.get(name)) is not None and has.value == condition.value]
    return items


def _by_value(table: Any, name: str) -> dict[str, dict[Any, Any]]:
    """The items of a table by the text of an attribute, and by their keys. The first query builds it; writes update it."""
    by_name = table.__dict__.setdefault(_BY_VALUE, {})
    if name not in by_name:
        by_name[name] = {}
        for hash_key, partition in table.items.items():
            for range_key, item in partition.items():
                _enter(by_name[name], name, (hash_key, range_key), item)
    found: dict[str, dict[Any, Any]] = by_name[name]
    return found


def _enter(found: dict[str, dict[Any, Any]], name: str, key: tuple[Any, Any], item: Any) -> None:
    if item is not None and (has := item.attrs.get(name)) is not None and has.type == "S":
        found.setdefault(has.value, {})[key] = item


def _note(place: _Place, *old_items: Any) -> None:
    """Update the items by value after a write. `old_items`: earlier states of the item."""
    table, *key = place
    for name, found in table.__dict__.get(_BY_VALUE, {}).items():
        for item in old_items:
            if item is not None and (has := item.attrs.get(name)) is not None:
                found.get(has.value, {}).pop(tuple(key), None)
        _enter(found, name, (key[0], key[1]), _item(place))


def forget_values(table: Any) -> None:
    """Discard the items by value after a change that bypassed the table's writes; the next query builds them again."""
    table.__dict__.pop(_BY_VALUE, None)


def _of_one_kind(original: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda comparison, item: _same_kind(comparison, item) and original(comparison, item)


def _or_of_two_kinds(original: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda comparison, item: not _same_kind(comparison, item) or original(comparison, item)


def _same_kind(comparison: Any, item: Any) -> bool:
    """Whether both values have the same type. moto has no type for functions (`size`); they are compared with numbers."""
    left, right = (getattr(side, "get_type", lambda _: "N")(item) for side in (comparison.lhs, comparison.rhs))
    return bool(left == right)


def _once_per_token(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the first result for a repeated token; refuse it for another transaction."""
    answers: OrderedDict[tuple[str, str, str], tuple[bytes, Any]] = OrderedDict()
    turn = threading.Lock()

    @functools.wraps(original)
    def transact_write_items(handler: Any) -> Any:
        from moto.dynamodb.exceptions import DynamodbException

        token = handler.body.get("ClientRequestToken")
        if token is None:
            return original(handler)
        of = (handler.current_account, handler.region, token)
        fingerprint = hashlib.sha256(json.dumps(handler.body["TransactItems"], sort_keys=True).encode()).digest()
        with turn:
            earlier = answers.get(of)
        if earlier is None:
            answer = original(handler)
            with turn:
                answers[of] = (fingerprint, answer)
                while len(answers) > _MOST_TOKENS:
                    answers.popitem(last=False)
            return answer
        if earlier[0] != fingerprint:
            error = "com.amazonaws.dynamodb.v20120810#IdempotentParameterMismatchException"
            raise DynamodbException(error, "The token was used for another transaction")
        return earlier[1]

    return transact_write_items


def _quick_serializer(original: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Results with items are already plain JSON, except for bytes."""

    @functools.wraps(original)
    def execute_result(result: Any, context: Any) -> Any:
        if context.operation_model.name not in ("Query", "Scan", "GetItem", "BatchGetItem"):
            return original(result, context)
        return _plain_json(result.result)

    return execute_result


def _quickly_serialized(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Records of the stream are already plain JSON, except for bytes and the time of the change."""

    @functools.wraps(original)
    def get_records(handler: Any) -> Any:
        answer = original(handler)
        put(answer, "execute_result", lambda _context: _plain_json(answer.result))
        return answer

    return get_records


def _plain_json(result: object) -> tuple[int, dict[str, str], str]:
    return 200, {"Content-Type": "application/x-amz-json-1.0"}, json.dumps(result, default=_on_the_wire)


def _on_the_wire(value: object) -> str | int:
    """Bytes in base64, a time in whole seconds since 1970 (moto's times are of UTC, without a zone)."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        return timegm(value.utctimetuple())
    raise TypeError(f"{type(value).__name__} in an answer")
