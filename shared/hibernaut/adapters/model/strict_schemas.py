"""The form of a JSON schema that providers ask for where they hold a model to it strictly."""

from __future__ import annotations

from hibernaut.schemas.base import Json, JsonObject

_SCALARS = ("string", "integer", "number", "boolean", "null")
_OPEN = frozenset({"$ref", "oneOf", "allOf", "not", "if", "patternProperties", "prefixItems"})
"""Keywords that strict mode refuses, or whose parts would have to be closed where they are defined."""


def closed(schema: Json) -> Json | None:
    """The schema in the form that strict mode wants, every property required and no other allowed; None where it cannot be had.

    One tool whose schema is not closed makes a provider refuse the whole request. An optional property is not made a required one
    that may be null: the tool would be called with a null it never declared.
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
