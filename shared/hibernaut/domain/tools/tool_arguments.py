"""A model's arguments made to fit a tool's JSON schema: numbers out of strings, nothing out of thin air.

Knows JSON schema as far as tools use it. A value that already fits is never touched: a string that looks like JSON stays
that string where a string is asked for (V1 mangles it; run-time digest 17, item 10).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from math import isfinite

from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import InvalidArgument

_INTEGER = re.compile(r"[+-]?\d+(?:\.0+)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_MOST_DIGITS = 4_000
_DEEPEST = 64
_NOUNS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}


def coerce(args: JsonObject, json_schema: JsonObject | None) -> JsonObject:
    """The arguments that the tool's schema names, each as the type that it asks for; others are dropped (digest 10.4).

    `json_schema` is the tool's, `{name, description, parameters}`. One without properties says nothing: the arguments stay.
    Raises: InvalidArgument with the argument's name and what was expected; its text is for the model.
    """
    parameters = (json_schema or {}).get("parameters")
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    if not isinstance(parameters, dict) or not isinstance(properties, dict):
        return dict(args)
    return _fields({name: args[name] for name in properties if name in args}, parameters, "", parameters, 0)


def check_prefill(args: JsonObject, json_schema: JsonObject | None) -> JsonObject:
    """A rule's prefilled arguments, coerced; the others of the tool's arguments are the model's (digest 2.4).

    Raises: InvalidArgument for an argument that the tool does not have or that does not fit.
    """
    parameters = (json_schema or {}).get("parameters")
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    known: Mapping[str, Json] = properties if isinstance(properties, dict) else {}
    if unknown := [name for name in args if name not in known]:
        raise InvalidArgument(f"a tool rule fills in arguments that the tool does not have: {', '.join(unknown)}")
    return {name: _fitted(value, known[name], name, parameters or {}) for name, value in args.items()}


def _fitted(value: Json, schema: Json, name: str, root: JsonObject, depth: int = 0) -> Json:
    """`name` is the path to the value, for the error's text; `root` is where references are looked up."""
    if depth > _DEEPEST:
        raise InvalidArgument(f"argument {name!r}: nested too deeply")
    if not isinstance(schema, dict):
        return value
    if isinstance(reference := schema.get("$ref"), str):
        return _fitted(value, _target(reference, root), name, root, depth + 1)
    if isinstance(choices := schema.get("anyOf") or schema.get("oneOf"), list):
        return _any_of(value, choices, name, root, depth)
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return _any_of(value, [schema | {"type": kind} for kind in kinds], name, root, depth)
    fitted = _typed(value, kinds, name) if isinstance(kinds, str) and kinds in _NOUNS else value
    options = schema.get("enum")
    if isinstance(options, list) and fitted not in options:
        raise InvalidArgument(f"argument {name!r}: expected one of {json.dumps(options, ensure_ascii=False)}")
    if isinstance(fitted, list):
        return _array(fitted, schema, name, root, depth)
    if isinstance(fitted, dict):
        return _fields(fitted, schema, f"{name}.", root, depth)
    return fitted


def _target(reference: str, root: JsonObject) -> Json:
    """What a local reference names; None, which fits everything, where it names nothing."""
    target: Json = root
    for part in reference.removeprefix("#/").split("/"):
        target = target.get(part) if isinstance(target, dict) else None
    return target


def _any_of(value: Json, choices: list[Json], name: str, root: JsonObject, depth: int) -> Json:
    """The first choice that takes the value as it is, else the first that can be made of it."""
    made: list[Json] = []
    refused: InvalidArgument | None = None
    for choice in choices:
        try:
            fitted = _fitted(value, choice, name, root, depth + 1)
        except InvalidArgument as error:
            refused = refused or error
            continue
        if type(fitted) is type(value) and fitted == value:
            return value
        made.append(fitted)
    if not made and refused:
        raise refused
    return made[0] if made else value


def _typed(value: Json, kind: str, name: str) -> Json:
    match kind, value:
        case ("string", str()) | ("boolean", bool()) | ("array", list()) | ("object", dict()) | ("null", None):
            return value
        case ("integer" | "number", int()) if not isinstance(value, bool):
            return value
        case "number", float() if isfinite(value):
            return value
        case "integer", float() if value.is_integer():
            return int(value)
        case "integer", str() if _INTEGER.fullmatch(value.strip()) and len(value) < _MOST_DIGITS:
            return int(value.strip().partition(".")[0])
        case "number", str() if _NUMBER.fullmatch(value.strip()) and len(value) < _MOST_DIGITS:
            return _typed(float(value) if set(value) & set(".eE") else int(value), kind, name)
        case "boolean", str() if value.strip().lower() in {"true", "false"}:
            return value.strip().lower() == "true"
        case "boolean", int() | float() if value in (0, 1):
            return bool(value)
        case "string", bool() | int() | float() | dict() | list():
            return json.dumps(value, ensure_ascii=False)
        case (("array" | "object"), str()):
            return _typed(_decoded(value, kind, name), kind, name)
        case _:
            raise InvalidArgument(f"argument {name!r}: expected {_NOUNS[kind]}, not {_described(value)}")


def _decoded(text: str, kind: str, name: str) -> Json:
    """A string in which a model wrote the array or object that was asked for."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, list if kind == "array" else dict):
        raise InvalidArgument(f"argument {name!r}: expected {_NOUNS[kind]}, not a string")
    return value


def _described(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return f"the string {value[:80]!r}" if value else "an empty string"
        case int() | float():
            return f"the number {value}" if abs(value) < 10**20 else "so large a number"
        case list():
            return "an array"
        case _:
            return "an object"


def _array(values: list[Json], schema: JsonObject, name: str, root: JsonObject, depth: int) -> list[Json]:
    least, most = schema.get("minItems"), schema.get("maxItems")
    if isinstance(least, int) and len(values) < least:
        raise InvalidArgument(f"argument {name!r}: expected at least {least} items, not {len(values)}")
    if isinstance(most, int) and len(values) > most:
        raise InvalidArgument(f"argument {name!r}: expected at most {most} items, not {len(values)}")
    prefix = schema.get("prefixItems")
    schemas = prefix if isinstance(prefix, list) else []
    rest = schema.get("items")
    return [
        _fitted(value, schemas[index] if index < len(schemas) else rest, f"{name}[{index}]", root, depth + 1)
        for index, value in enumerate(values)
    ]


def _fields(values: JsonObject, schema: JsonObject, path: str, root: JsonObject, depth: int) -> JsonObject:
    """An object's fields, each fitted; those that `schema` does not name are kept. Null is no value for an optional field."""
    properties = schema.get("properties")
    named: JsonObject = properties if isinstance(properties, dict) else {}
    asked = schema.get("required")
    required = [field for field in asked if isinstance(field, str)] if isinstance(asked, list) else []
    missing = [f"{path}{field}" for field in required if field not in values]
    if missing:
        raise InvalidArgument(f"required argument{'s' if len(missing) > 1 else ''} missing: {', '.join(missing)}")
    return {
        field: value
        if value is None and field not in required
        else _fitted(value, named.get(field), f"{path}{field}", root, depth + 1)
        for field, value in values.items()
    }
