"""JSON schemas that callers hand in: of a tool's parameters, in the dialect that models' providers read (draft 2020-12).

A schema that passes `problem_of` can be offered to a model and read by `domain.tool_arguments`. Knows keywords and the form of
their values; it must not know tools, nor what their arguments are.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Annotated
from urllib.parse import unquote

from pydantic import AfterValidator, Field
from pydantic_core import from_json, to_json

from hibernaut.schemas.base import Json, JsonObject, kind_of

LARGEST_SCHEMA = 128 * 1024
"""The largest schema of a tool in bytes of JSON; a larger one would not fit a model's window."""
DEEPEST_SCHEMA = 32
"""The largest nesting depth."""
SMALL_SCHEMA, REMEMBERED = 8 * 1024, 1024
"""The schemas whose validity a process remembers: their largest size in bytes of JSON, and their number. Each step of a run reads
those of all its tools.
"""
KINDS = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})

_ONE = frozenset({
    "items", "additionalProperties", "additionalItems", "unevaluatedItems", "unevaluatedProperties", "propertyNames", "contains",
    "not", "if", "then", "else",
})  # fmt: skip
_SEVERAL = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_NAMED = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
_TEXTS = frozenset({"$ref", "$schema", "$id", "$comment", "$anchor", "pattern", "format", "contentEncoding", "contentMediaType"})
_COUNTS = frozenset({
    "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains",
})  # fmt: skip
_NUMBERS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})

_Found = tuple[str, Json]
"""A nested schema, with the path to it."""


def problem_of(schema: Json) -> str | None:
    """The first violation of JSON schema rules in `schema`, with its path; None if it is valid. Each part is visited once."""
    level: list[_Found] = [("", schema)]
    targets: dict[str, Json] = {}
    for _ in range(DEEPEST_SCHEMA):
        below: list[_Found] = []
        for path, each in level:
            if isinstance(each, bool) and path:
                continue
            if not isinstance(each, dict):
                return f"{path or 'it'} must be a schema (an object), not {kind_of(each)}"
            for keyword, value in each.items():
                place = f"{path}.{keyword}" if path else keyword
                if (why := _problem(keyword, value)) or (why := _lost_reference(keyword, value, schema, targets)):
                    return f"{place} {why}"
                below += _within(keyword, value, place)
        if not below:
            return None
        level = below
    return f"its schemas are nested more than {DEEPEST_SCHEMA} deep"


def size_problem_of(schema: JsonObject) -> str | None:
    """The violation of the size limit, or None."""
    size = len(to_json(schema, inf_nan_mode="constants"))
    return f"it takes {size} bytes as JSON, and a tool's schema at most {LARGEST_SCHEMA}" if size > LARGEST_SCHEMA else None


def target(reference: str, root: Json) -> Json:
    """The target of a reference within the document (`#/$defs/Point`, RFC 6901); None if it does not exist."""
    pointer = reference.removeprefix("#")
    if pointer == reference or (pointer and not pointer.startswith("/")):
        return None
    found = root
    for part in unquote(pointer).split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(name)
        elif isinstance(found, list) and name.isdecimal() and len(name) < 6 and int(name) < len(found):
            found = found[int(name)]
        else:
            return None
    return found


def sound_parameters(parameters: Json) -> JsonObject:
    """A tool's parameters in a form that can be offered to a model: unchanged if they are a valid object schema, else an object
    without properties.

    A stored record may be older than the validation of requests, and one invalid tool would make every request of its agent fail.
    """
    if isinstance(parameters, dict) and parameters.get("type", "object") == "object" and _is_valid(parameters):
        return parameters
    return {"type": "object", "properties": {}}


def _is_valid(schema: JsonObject) -> bool:
    text = to_json(schema, inf_nan_mode="constants")
    return _is_valid_again(text) if len(text) <= SMALL_SCHEMA else problem_of(schema) is None


@lru_cache(maxsize=REMEMBERED)
def _is_valid_again(text: bytes) -> bool:
    return problem_of(from_json(text)) is None


def _problem(keyword: str, value: Json) -> str | None:
    """Why `value` is invalid for the keyword, or None."""
    if keyword in _ONE or keyword in ("title", "description"):
        allowed = isinstance(value, dict | bool) if keyword in _ONE else value is None or isinstance(value, str)
        return None if allowed else f"must be {'a schema' if keyword in _ONE else 'a text'}, not {kind_of(value)}"
    for keywords, expected, fits in _FORMS:
        if keyword in keywords and not fits(value):
            return f"must be {expected}, not {kind_of(value)}"
    return None


def _lost_reference(keyword: str, value: Json, root: Json, targets: dict[str, Json]) -> str | None:
    """Why a reference leads to no schema, or None. `targets` keeps what each reference leads to: pointers may be long."""
    if keyword != "$ref":
        return None

    def followed(reference: str) -> Json:
        if reference not in targets:
            targets[reference] = target(reference, root)
        return targets[reference]

    found = followed(value)
    for _ in range(DEEPEST_SCHEMA):
        if not isinstance(found, dict | bool):
            return f"refers to {value[:200]!r}, which the schema does not define"
        further = found.get("$ref") if isinstance(found, dict) else None
        if not isinstance(further, str):
            return None
        found = followed(further)
    return f"refers to {value[:200]!r}, which leads to further references alone"


def _within(keyword: str, value: Json, place: str) -> Iterator[_Found]:
    if keyword in _ONE:
        yield place, value
    elif keyword in _SEVERAL:
        for index, each in enumerate(value):
            yield f"{place}[{index}]", each
    elif keyword in _NAMED:
        for name, each in value.items():
            yield f"{place}.{name[:80]}", each


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_kind(value: Json) -> bool:
    kinds = value if isinstance(value, list) else [value]
    return bool(kinds) and all(isinstance(kind, str) and kind in KINDS for kind in kinds)


def _is_names(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


_FORMS: tuple[tuple[frozenset[str], str, Callable[[Json], bool]], ...] = (
    (_NAMED, "an object of schemas", lambda value: isinstance(value, dict)),
    (_SEVERAL, "a list of schemas", lambda value: isinstance(value, list)),
    (_TEXTS, "a text", lambda value: isinstance(value, str)),
    (_COUNTS, "a whole number of at least 0", _is_count),
    (_NUMBERS, "a number", _is_number),
    (frozenset({"type"}), f"one of {', '.join(sorted(KINDS))}, or a list of them", _is_kind),
    (frozenset({"required"}), "a list of names", _is_names),
    (frozenset({"enum", "examples"}), "a list", lambda value: isinstance(value, list)),
)


def _checked_parameters(schema: JsonObject) -> JsonObject:
    if schema.get("type", "object") != "object":
        raise ValueError('a tool\'s parameters are an object: their `type` must be "object"')
    if why := size_problem_of(schema) or problem_of(schema):
        raise ValueError(why)
    return schema


def _checked_function(schema: JsonObject) -> JsonObject:
    if why := size_problem_of(schema):
        raise ValueError(why)
    if not isinstance(schema.get("description"), str | None):
        raise ValueError(f"description must be a text, not {kind_of(schema['description'])}")
    parameters = schema.get("parameters")
    if parameters is not None and not isinstance(parameters, dict):
        raise ValueError(f"parameters must be a schema (an object), not {kind_of(parameters)}")
    try:
        _checked_parameters(parameters or {})
    except ValueError as error:
        raise ValueError(f"parameters: {error}") from None
    return schema


_size_hint = Field(json_schema_extra={"x-max-bytes": LARGEST_SCHEMA})
ParametersSchema = Annotated[JsonObject, AfterValidator(_checked_parameters), _size_hint]
"""The parameters of a tool: one schema of type object."""
FunctionSchema = Annotated[JsonObject, AfterValidator(_checked_function), _size_hint]
"""A tool's `json_schema`: `{name, description, parameters}`."""
