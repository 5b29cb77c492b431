"""The form of a JSON schema that providers ask for where they hold a model to it strictly."""

from __future__ import annotations

from hibernaut.schemas.base import Json


def closed(schema: Json) -> Json | None:
    """The schema in the form that strict mode wants, every property required and no other allowed; None where it cannot be had.

    An optional property is not made a required one that may be null: the tool would be called with a null it never declared.
    """
    if not isinstance(schema, dict) or schema.get("type") not in ("object", "array"):
        return schema
    if schema["type"] == "array":
        items = closed(schema.get("items"))
        return None if items is None else schema | {"items": items}
    properties = schema.get("properties")
    if not isinstance(properties, dict) or set(schema.get("required") or ()) != set(properties):
        return None
    inner = {name: closed(each) for name, each in properties.items()}
    if None in inner.values():
        return None
    return schema | {"properties": inner, "additionalProperties": False}
