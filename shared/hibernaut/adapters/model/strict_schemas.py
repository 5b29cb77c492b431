"""Converts JSON schemas to the form that providers require for strict tool calls."""

from __future__ import annotations

from hibernaut.schemas.base import Json, JsonObject

_SCALARS = ("string", "integer", "number", "boolean", "null")
_OPEN = frozenset({"$ref", "oneOf", "allOf", "not", "if", "patternProperties", "prefixItems"})
"""Keywords that strict mode refuses, or whose subschemas would have to be closed at their definition."""


def closed(schema: Json) -> Json | None:
    """The schema in strict form (every property required, no additional properties), or None if it cannot be converted.

    One tool with an unsuitable schema makes a provider refuse the whole request. An optional property is not turned into a
    required nullable one, because the tool would then get a null that it never declared.
    """
    if not isinstance(schema, dict) or not _OPEN.isdisjoint(schema):
        return None
    if isinstance(choices := schema.get("anyOf"), list):
        parts = [closed(choice) for choice in choices]
        return None if None in parts else schema | {"anyOf": parts}
    match schema.get("type"):
        case "object":
            return _closed_object(schema)
        case "array":
            items = closed(schema.get("items"))
            return None if items is None else schema | {"items": items}
        case list(kinds):
            return schema if all(kind in _SCALARS for kind in kinds) else None
        case kind:
            return schema if kind in _SCALARS or "enum" in schema else None


def _closed_object(schema: JsonObject) -> Json | None:
    properties = schema.get("properties")
    if not isinstance(properties, dict) or set(schema.get("required") or ()) != set(properties):
        return None
    inner = {name: closed(each) for name, each in properties.items()}
    if None in inner.values():
        return None
    return schema | {"properties": inner, "additionalProperties": False}
