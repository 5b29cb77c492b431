"""Fixes of the values in moto's DynamoDB: plain ones are compared, measured and copied at once.

Knows: the internals of moto's DynamoDB. Must not know: the tables of the product.

Without these fixes
- a comparison of two keys makes twelve calls, and a query compares all keys of its partition;
- each attribute that an item gets measures all attributes that it has, letter by letter;
- each item that is read is copied value by value, although a write never changes a plain value: it puts another in its place.
"""

from __future__ import annotations

import copy
from typing import Any

from hibernaut.local.aws_offline.patching import instead_of, original_of, put, replace

_AS_THEY_ARE = frozenset({"S", "B", "BOOL"})
"""The types with values of Python's own types."""
_PARTS = frozenset({"L", "M", "SS", "NS", "BS"})
"""The types with nested values, which a write may change."""


def install() -> None:
    """Apply all fixes; idempotent."""
    from moto.dynamodb.models import dynamo_type, utilities
    from moto.dynamodb.models.dynamo_type import DynamoType, Item

    cast = original_of(vars(DynamoType)["cast_value"].fget)
    plainly = instead_of(cast, lambda value: value.value if value.type in _AS_THEY_ARE else cast(value))
    put(DynamoType, "cast_value", property(plainly))
    replace(DynamoType, "size", lambda original: lambda value: bytesize(value.value) if value.type == "S" else original(value))
    replace(
        DynamoType, "__deepcopy__", lambda original: lambda value, memo: original(value, memo) if value.type in _PARTS else value
    )
    replace(Item, "size", lambda _: lambda item: sum(bytesize(name) + value.size() for name, value in item.attrs.items()))
    put(Item, "__deepcopy__", _copied)
    for module in (dynamo_type, utilities):
        put(module, "bytesize", bytesize)


def bytesize(text: str | bytes) -> int:
    """The bytes of a text in UTF-8."""
    return len(text) if isinstance(text, bytes) or text.isascii() else len(text.encode("utf-8"))


def _copied(item: Any, memo: dict[int, Any]) -> Any:
    clone = item.__class__.__new__(item.__class__)
    clone.hash_key, clone.range_key = item.hash_key, item.range_key
    clone.attrs = item.attrs.__class__()
    # Past the check of the whole item's size at each attribute.
    dict.update(
        clone.attrs, {name: copy.deepcopy(value, memo) if value.type in _PARTS else value for name, value in item.attrs.items()}
    )
    return clone
