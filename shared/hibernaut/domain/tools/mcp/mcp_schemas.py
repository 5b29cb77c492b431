"""The schema that a model is offered for a tool of an MCP server (RT 10.8).

Servers write any JSON schema. Providers take an object without references, and refuse all tools of a request for one that they
cannot read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from hibernaut.domain.tools.step_budget import BudgetSpent, StepBudget
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.json_schema import LARGEST_SCHEMA, problem_of, size_problem_of, target

DEPTHS = (10, 4, 1)
"""The nesting depths to which references are replaced by what they name: the first one whose result is not too large."""
LONGEST_DESCRIPTION = 8_192
STATUS, WARNINGS = "mcp:SCHEMA_STATUS", "mcp:SCHEMA_WARNINGS"
"""The keys by which V1's clients show the health of a schema."""
_DEFINITIONS = ("$defs", "definitions", "$schema", "$id")
_VALUES = frozenset({"const", "default", "enum", "examples"})
_NAMED = frozenset({"properties", "patternProperties", "dependentSchemas"})


class NoModelTakes(Exception):
    """A schema that cannot be offered to a model. The message is the end of a sentence about the schema."""


def fingerprint(schema: Json) -> str:
    """A short hash of a schema as its server wrote it, by which a change is noticed."""
    return hashlib.sha256(json.dumps(schema, sort_keys=True, default=str).encode("utf-8", "replace")).hexdigest()[:16]


def offered(name: str, description: str | None, schema: Json) -> JsonObject:
    """The `json_schema` of a tool with this name. Raises: NoModelTakes."""
    parameters = _parameters(schema)
    strict = _is_strict(parameters)
    json_schema: JsonObject = {
        "name": name,
        "description": (description or "")[:LONGEST_DESCRIPTION],
        "parameters": parameters,
        STATUS: "STRICT_COMPLIANT" if strict else "NON_STRICT_ONLY",
    }
    if not strict:
        json_schema[WARNINGS] = ["an object of it allows properties that it does not name"]
    if problem := size_problem_of(json_schema):
        raise NoModelTakes(problem)
    return json_schema


def _parameters(schema: Json) -> JsonObject:
    if not isinstance(schema, dict):
        raise NoModelTakes("it is no object")
    if problem := size_problem_of(schema) or problem_of(schema):
        raise NoModelTakes(problem)
    if schema.get("type", "object") != "object":
        raise NoModelTakes("the arguments of a tool are an object, and it describes something else")
    plain = _inlined(schema)
    properties = plain.get("properties", {})
    required = [each for each in plain.get("required", []) if each in properties]
    return {**plain, "type": "object", "properties": properties, "required": required}


def _inlined(schema: JsonObject) -> JsonObject:
    """The schema without references. Raises: NoModelTakes."""
    problem = None
    for depth in DEPTHS:
        try:
            plain = _Inlining(schema, depth).of(schema)
        except BudgetSpent:
            problem = f"written without references it takes more than {LARGEST_SCHEMA} characters"
            continue
        if (problem := problem_of(plain)) is None:
            return plain
    raise NoModelTakes(problem or "it has no form without references")


class _Inlining:
    """Replaces references by their targets. A schema that is nested more than `deepest` references deep, as in a recursive
    schema, allows any value.
    """

    def __init__(self, root: JsonObject, deepest: int) -> None:
        self._root = root
        self._deepest = deepest
        self._budget = StepBudget(LARGEST_SCHEMA)

    def of(self, schema: JsonObject, depth: int = 0) -> JsonObject:
        self._budget.spend(sum(len(str(key)) + 4 for key in schema))
        if isinstance(reference := schema.get("$ref"), str):
            found = target(reference, self._root)
            siblings = {key: value for key, value in schema.items() if key not in ("$ref", *_DEFINITIONS)}
            if depth == self._deepest or not isinstance(found, dict):
                return self._closed(siblings, depth)
            return self.of({**found, **siblings}, depth + 1)
        return self._closed({key: value for key, value in schema.items() if key not in _DEFINITIONS}, depth)

    def _closed(self, schema: JsonObject, depth: int) -> JsonObject:
        closed = {key: self._value(key, value, depth) for key, value in schema.items()}
        if isinstance(choices := closed.get("anyOf"), list):
            closed["anyOf"] = _distinct(choices)
        if closed.get("type") == "array":
            closed.setdefault("items", {"type": "string"})
        return {"additionalProperties": False, **closed} if closed.get("type") == "object" and "properties" in closed else closed

    def _value(self, key: str, value: Json, depth: int) -> Json:
        if key in _VALUES:
            self._budget.spend(len(json.dumps(value, default=str)))
            return value
        if key in _NAMED and isinstance(value, dict):
            return {name: self._schema(each, depth) for name, each in value.items()}
        return self._schema(value, depth)

    def _schema(self, value: Json, depth: int) -> Json:
        match value:
            case dict():
                return self.of(value, depth)
            case list():
                self._budget.spend(len(value) + 2)
                return [self._schema(each, depth) for each in value]
            case str():
                self._budget.spend(len(value))
                return value
            case _:
                return value


def _distinct(choices: list[Json]) -> list[Json]:
    """The choices without repeated ones."""
    by_json: dict[str, Json] = {}
    for choice in choices:
        by_json.setdefault(json.dumps(choice, sort_keys=True, default=str), choice)
    return list(by_json.values())


def _is_strict(schema: Json) -> bool:
    """Whether every object of the schema names all of its properties."""
    if isinstance(schema, list):
        return all(_is_strict(each) for each in schema)
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        return False
    return all(_is_strict(value) for key, value in schema.items() if key not in _VALUES)
