"""A validator for the part of JSON Schema that the OpenAPI description of errors uses."""

from __future__ import annotations

from typing import Any

KINDS: dict[str, type] = {"string": str, "object": dict, "array": list, "integer": int, "null": type(None)}


def fits(document: dict[str, Any], schema: dict[str, Any], value: Any) -> bool:
    """Whether the value matches the schema and has no other members."""
    if "$ref" in schema:
        return fits(document, document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], value)
    if "anyOf" in schema:
        return any(fits(document, one, value) for one in schema["anyOf"])
    if not isinstance(value, KINDS[schema["type"]]):
        return False
    if isinstance(value, dict):
        properties = schema["properties"]
        named = value.keys() <= properties.keys() and set(schema["required"]) <= value.keys()
        return named and all(fits(document, properties[name], part) for name, part in value.items())
    return not isinstance(value, list) or all(fits(document, schema["items"], part) for part in value)
