"""Coerces a model's arguments to a tool's JSON schema: strings to numbers, but nothing invented.

Knows JSON schema as far as tools use it. A value that fits is never changed: a string that looks like JSON remains a string if
the schema wants a string (V1 parses it; RT 17, item 10). Each pair of value and schema is compared once, even if
several references lead to it, and the steps of one call are limited.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import isfinite

from hibernaut.domain.tools.step_budget import BudgetSpent, StepBudget
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.json_schema import target

MOST_STEPS = 100_000
"""The number of (value, schema) pairs for the arguments of one call: a fraction of a second."""
_INTEGER = re.compile(r"[+-]?\d++(?:\.0++)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?", re.ASCII)
_MOST_DIGITS = 4_000
_DEEPEST = 64
_LONGEST_SHOWN = 500
"""The number of characters of a list of choices or names that an error quotes."""
_PER_STEP = 32
"""The number of characters to decode or of a reference, or of names or choices to compare, that count as one step."""
_NOUNS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}


def coerce(args: JsonObject, json_schema: JsonObject | None, budget: StepBudget | None = None) -> JsonObject:
    """The arguments that the tool's schema names, coerced to their types; others are dropped (API 10.4).

    `json_schema` is the tool's `{name, description, parameters}`. Without properties in the schema, the arguments are returned
    unchanged. Raises: InvalidArgument with the argument's name and the expected type; the message is for the model.
    """
    parameters = (json_schema or {}).get("parameters")
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    if not isinstance(parameters, dict) or not isinstance(properties, dict):
        return dict(args)
    known_arguments = {name: args[name] for name in properties if name in args}
    return _fitted(known_arguments, parameters, parameters, budget or StepBudget(MOST_STEPS))


def check_prefill(args: JsonObject, json_schema: JsonObject | None) -> JsonObject:
    """A rule's prefilled arguments, coerced; the model provides the tool's other arguments (API 2.4).

    Raises: InvalidArgument for an argument that the tool does not have or that does not fit.
    """
    parameters = (json_schema or {}).get("parameters")
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    properties_by_name: Mapping[str, Json] = properties if isinstance(properties, dict) else {}
    if unknown := [name for name in args if name not in properties_by_name]:
        raise InvalidArgument(f"a tool rule fills in arguments that the tool does not have: {_shown(', '.join(unknown))}")
    # The model provides the other required arguments, so they do not count as missing.
    schema_of_args = {"properties": {name: properties_by_name[name] for name in args}, "required": list(args)}
    return _fitted(args, schema_of_args, parameters or {}, StepBudget(MOST_STEPS))


@immutable
class _Misfit:
    """Why a value does not fit. `path` leads from the root value to it; `missing` are the names of required properties that it
    lacks.
    """

    text: str
    path: str = ""
    missing: tuple[str, ...] = ()

    def below(self, step: str) -> _Misfit:
        return replace(self, path=f"{step[:80]}{self.path}")


def _fitted(args: JsonObject, schema: JsonObject, root: JsonObject, budget: StepBudget) -> JsonObject:
    """The coerced arguments. Raises: InvalidArgument."""
    try:
        fitted = _Fitting(root, budget).fields(args, schema, 0)
    except BudgetSpent:
        raise InvalidArgument("the arguments are too many, or their schema has too many choices, to be read") from None
    if not isinstance(fitted, _Misfit):
        return fitted
    if fitted.missing:
        names = [f"{fitted.path}.{name}".removeprefix(".") for name in fitted.missing]
        raise InvalidArgument(f"required argument{'s' if len(names) > 1 else ''} missing: {_shown(', '.join(names))}")
    raise InvalidArgument(f"argument {fitted.path.removeprefix('.')!r}: {fitted.text}")


class _Fitting:
    """Coerces the arguments of one call. `root` is the schema in which references are resolved."""

    def __init__(self, root: JsonObject, budget: StepBudget) -> None:
        self._root = root
        self._budget = budget
        self._met: dict[tuple[int, int], tuple[JsonObject, Json, Json | _Misfit]] = {}
        """The result for each pair of schema and value. The entries hold both objects, so that their `id()` is not reused."""

    def fields(self, values: JsonObject, schema: JsonObject, depth: int) -> JsonObject | _Misfit:
        """The coerced properties of an object; properties that `schema` does not name remain. Null counts as absent for an
        optional property.
        """
        properties = schema.get("properties")
        known_properties: JsonObject = properties if isinstance(properties, dict) else {}
        raw_required = schema.get("required")
        required = [field for field in raw_required if isinstance(field, str)] if isinstance(raw_required, list) else []
        self._budget.spend(len(required) // _PER_STEP)
        if missing := tuple(field for field in required if field not in values):
            return _Misfit("", missing=missing)
        required_names, fitted = frozenset(required), {}
        for field, value in values.items():
            outcome = (
                value
                if value is None and field not in required_names
                else self._fit(value, known_properties.get(field), depth + 1)
            )
            if isinstance(outcome, _Misfit):
                return outcome.below(f".{field}")
            fitted[field] = outcome
        return fitted

    def _fit(self, value: Json, schema: Json, depth: int) -> Json | _Misfit:
        if not isinstance(schema, dict):
            return value
        if cached := self._met.get((id(schema), id(value))):
            return cached[2]
        if depth > _DEEPEST:
            return _Misfit("nested too deeply")
        self._budget.spend()
        outcome = self._by(value, schema, depth)
        self._met[id(schema), id(value)] = schema, value, outcome
        return outcome

    def _by(self, value: Json, schema: JsonObject, depth: int) -> Json | _Misfit:
        if isinstance(reference := schema.get("$ref"), str):
            self._budget.spend(len(reference) // _PER_STEP)
            return self._fit(value, target(reference, self._root), depth + 1)
        if isinstance(choices := schema.get("anyOf") or schema.get("oneOf"), list):
            return _first(value, (self._fit(value, choice, depth + 1) for choice in choices))
        kinds = schema.get("type")
        if isinstance(kinds, list):
            return _first(value, (self._of_kind(value, kind, schema, depth) for kind in kinds))
        return self._of_kind(value, kinds, schema, depth)

    def _of_kind(self, value: Json, kind: Json, schema: JsonObject, depth: int) -> Json | _Misfit:
        fitted = self._typed(value, kind) if isinstance(kind, str) and kind in _NOUNS else value
        options = schema.get("enum")
        if isinstance(fitted, _Misfit):
            return fitted
        if isinstance(options, list):
            self._budget.spend(len(options) // _PER_STEP)
            if fitted not in options:
                return _Misfit(f"expected one of {_shown(json.dumps(options, ensure_ascii=False))}")
        if isinstance(fitted, list):
            return self._items(fitted, schema, depth)
        return self.fields(fitted, schema, depth) if isinstance(fitted, dict) else fitted

    def _typed(self, value: Json, kind: str) -> Json | _Misfit:
        if isinstance(value, str) and kind != "string":
            self._budget.spend(len(value) // _PER_STEP)
        fitted = _typed(value, kind)
        if isinstance(fitted, str) and not isinstance(value, str):
            self._budget.spend(len(fitted) // _PER_STEP)
        return fitted

    def _items(self, values: list[Json], schema: JsonObject, depth: int) -> list[Json] | _Misfit:
        least, most = schema.get("minItems"), schema.get("maxItems")
        if isinstance(least, int) and len(values) < least:
            return _Misfit(f"expected at least {least} items, not {len(values)}")
        if isinstance(most, int) and len(values) > most:
            return _Misfit(f"expected at most {most} items, not {len(values)}")
        prefix, item_schema = schema.get("prefixItems"), schema.get("items")
        schemas = prefix if isinstance(prefix, list) else []
        fitted = []
        for index, value in enumerate(values):
            outcome = self._fit(value, schemas[index] if index < len(schemas) else item_schema, depth + 1)
            if isinstance(outcome, _Misfit):
                return outcome.below(f"[{index}]")
            fitted.append(outcome)
        return fitted


def _first(value: Json, outcomes: Iterable[Json | _Misfit]) -> Json | _Misfit:
    """The result for a value with several alternatives: the unchanged value if one alternative accepts it, else the first coerced
    value.
    """
    coerced: list[Json] = []
    misfit: _Misfit | None = None
    for outcome in outcomes:
        if isinstance(outcome, _Misfit):
            misfit = misfit or outcome
        elif type(outcome) is type(value) and outcome == value:
            return value
        else:
            coerced.append(outcome)
    return coerced[0] if coerced else misfit or value


def _typed(value: Json, kind: str) -> Json | _Misfit:
    match kind, value:
        case ("string", str()) | ("boolean", bool()) | ("array", list()) | ("object", dict()) | ("null", None):
            return value
        case ("integer" | "number", int()) if not isinstance(value, bool):
            return value
        case "number", float() if isfinite(value):
            return value
        case "integer", float() if value.is_integer():
            return int(value)
        case "integer", str() if len(value) < _MOST_DIGITS and _INTEGER.fullmatch(value.strip()):
            return int(value.strip().partition(".")[0])
        case "number", str() if len(value) < _MOST_DIGITS and _NUMBER.fullmatch(value.strip()):
            return _typed(float(value) if set(value) & set(".eE") else int(value), kind)
        case "boolean", str() if value.strip().lower() in {"true", "false"}:
            return value.strip().lower() == "true"
        case "boolean", int() | float() if value in (0, 1):
            return bool(value)
        case "string", bool() | int() | float() | dict() | list():
            return json.dumps(value, ensure_ascii=False)
        case (("array" | "object"), str()):
            return _decoded(value, kind)
        case _:
            return _Misfit(f"expected {_NOUNS[kind]}, not {_described(value)}")


def _decoded(text: str, kind: str) -> Json | _Misfit:
    """The array or object in a string, if the model wrote it as JSON text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, list if kind == "array" else dict):
        return _Misfit(f"expected {_NOUNS[kind]}, not a string")
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


def _shown(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
