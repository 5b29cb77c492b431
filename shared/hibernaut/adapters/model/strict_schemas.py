"""Converts JSON schemas to the form that providers require for strict tool calls.

A provider refuses the whole request because of one unsupported strict tool. So a tool is strict only if all its keywords are
supported: the keywords below, by OpenAI's guide "Structured outputs", supported schemas. All other tools are sent as non-strict.
"""

from __future__ import annotations

from hibernaut.schemas.base import Json, JsonObject

_SCALARS = frozenset({"string", "integer", "number", "boolean", "null"})
_LIMITS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems"})
_KEYWORDS = (
    frozenset({"type", "title", "description", "enum", "const", "properties", "required", "additionalProperties", "items"})
    | _LIMITS
)
"""All keywords of a strict schema besides `anyOf`. Some providers refuse references, `default`, `pattern` and `format`."""
_UNION_KEYWORDS = frozenset({"anyOf", "title", "description"})
_VALUES = frozenset({"const", "default", "enum", "examples"})
"""Keywords that hold values instead of schemas."""
MOST_DEPTH, MOST_PROPERTIES, MOST_VALUES = 5, 100, 500
"""Levels, properties and values of enums in one schema: the least limits that a strict model has had (OpenAI's guide; now 10,
5,000, 1,000).
"""


def closed(schema: Json) -> JsonObject | None:
    """The schema in strict form (every property required, no additional properties), or None if it cannot be converted.

    An optional property is not turned into a required nullable one, because the tool would then get a null that it never
    declared.
    """
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return None
    strict = _closed(schema, MOST_DEPTH)
    return strict if strict is not None and _fits(strict) else None


def with_closed_objects(schema: Json) -> Json:
    """The schema in which an object that does not say whether it may have further properties has none. Claude and Converse refuse
    any other schema for a reply (platform.claude.com, "Structured outputs", JSON schema limitations; BerriAI/litellm#21222).
    """
    if isinstance(schema, list):
        return [with_closed_objects(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: each if name in _VALUES else with_closed_objects(each) for name, each in schema.items()}
    return {"additionalProperties": False, **inner} if inner.get("type") == "object" else inner


def _closed(schema: Json, depth: int) -> JsonObject | None:
    if not isinstance(schema, dict) or depth < 0:
        return None
    if "anyOf" in schema:
        return _closed_union(schema, depth)
    kind, values = schema.get("type"), schema.get("enum", [None])
    if not schema.keys() <= _KEYWORDS or not isinstance(values, list) or not values:
        return None
    match kind:
        case "object":
            return _closed_object(schema, depth)
        case "array":
            items = _closed(schema.get("items"), depth - 1)
            return None if items is None or "properties" in schema else schema | {"items": items}
        case list() if kind and all(isinstance(each, str) and each in _SCALARS for each in kind):
            return schema if {"properties", "items"}.isdisjoint(schema) else None
        case str() if kind in _SCALARS:
            return schema if {"properties", "items"}.isdisjoint(schema) else None
        case _:
            return None


def _closed_union(schema: JsonObject, depth: int) -> JsonObject | None:
    """One of several schemas. Two objects among them must differ in their first properties, so that one object is the most."""
    choices = schema["anyOf"]
    if not isinstance(choices, list) or not choices or not schema.keys() <= _UNION_KEYWORDS:
        return None
    parts = [_closed(choice, depth) for choice in choices]
    if any(part is None or "anyOf" in part for part in parts):
        return None
    objects = sum(part is not None and part["type"] == "object" for part in parts)
    return schema | {"anyOf": parts} if objects <= 1 else None


def _closed_object(schema: JsonObject, depth: int) -> JsonObject | None:
    properties, required = schema.get("properties"), schema.get("required", [])
    if (
        not isinstance(properties, dict)
        or not isinstance(required, list)
        or schema.get("additionalProperties", False) is not False
    ):
        return None
    if not all(isinstance(name, str) for name in required) or set(required) != set(properties) or "items" in schema:
        return None
    inner = {name: _closed(each, depth - 1) for name, each in properties.items()}
    if None in inner.values():
        return None
    return schema | {"properties": inner, "required": required, "additionalProperties": False}


def _fits(schema: JsonObject) -> bool:
    """Whether the whole schema keeps to the limits."""
    properties, values, parts = 0, 0, [schema]
    while parts:
        part = parts.pop()
        inner = part.get("properties", {})
        properties, values = properties + len(inner), values + len(part.get("enum", ()))
        parts += [*inner.values(), *part.get("anyOf", ()), *([part["items"]] if "items" in part else ())]
    return properties <= MOST_PROPERTIES and values <= MOST_VALUES
