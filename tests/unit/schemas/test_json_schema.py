"""Schemas that callers hand in: which are sound, what is wrong with the others, and what references name."""

from __future__ import annotations

import copy

import pytest
from pydantic import ValidationError

from hibernaut.schemas import json_schema
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.json_schema import DEEPEST_SCHEMA, LARGEST_SCHEMA, SMALL_SCHEMA, problem_of, sound_parameters, target
from hibernaut.schemas.runs.send import ClientToolCreate
from hibernaut.schemas.tools.tool import LARGEST_SOURCE, ToolCreate, ToolRunFromSource, ToolUpdate

SOUND = {
    "type": "object",
    "properties": {
        "where": {"$ref": "#/$defs/Point", "description": "Where."},
        "what": {"anyOf": [{"type": "string", "minLength": 1}, {"type": ["integer", "null"], "maximum": 1.5}], "default": {}},
        "free": True,
        "rows": {"type": "array", "items": {"$ref": "#"}, "prefixItems": [{"enum": [1, "a"]}], "additionalProperties": False},
    },
    "required": ["where"],
    "$defs": {"Point": {"type": "object", "x-note": 1, "description": None}},
}


def nested(levels: int) -> JsonObject:
    schema: JsonObject = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


def test_a_sound_schema_has_no_problem_and_is_offered_as_it_is() -> None:
    assert problem_of(SOUND) is None
    assert sound_parameters(SOUND) is SOUND
    assert problem_of(nested(DEEPEST_SCHEMA - 1)) is None


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"properties": "abc"}, "properties must be an object of schemas, not the text 'abc'"),
        (
            {"properties": {"a": {"properties": {"b": 1}}}},
            "properties.a.properties.b must be a schema (an object), not the number 1",
        ),
        ({"items": [{}]}, "items must be a schema, not a list"),
        ({"anyOf": [{}, {"type": "text"}]}, "anyOf[1].type must be one of array, boolean, integer, null, number, object, string"),
        ({"type": []}, "type must be one of"),
        ({"required": [1]}, "required must be a list of names, not a list"),
        ({"required": True}, "required must be a list of names, not a boolean"),
        ({"enum": "a"}, "enum must be a list"),
        ({"minItems": -1}, "minItems must be a whole number of at least 0"),
        ({"maximum": "9"}, "maximum must be a number"),
        ({"description": 1}, "description must be a text"),
        ({"not": None}, "not must be a schema, not null"),
        ({"items": {"$ref": "#/$defs/Lost"}}, "items.$ref refers to '#/$defs/Lost', which the schema does not define"),
        (
            {"items": {"$ref": "#/$defs/A"}, "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}},
            "items.$ref refers to '#/$defs/A', which leads to further references alone",
        ),
        ({"$ref": "#"}, "$ref refers to '#', which leads to further references alone"),
        ({"$ref": "https://example.com/schema"}, "$ref refers to"),
        (nested(DEEPEST_SCHEMA), f"its schemas are nested more than {DEEPEST_SCHEMA} deep"),
        ([], "it must be a schema (an object), not a list"),
    ],
)
def test_an_unsound_schema_is_told_by_the_path_to_its_fault_and_offered_without_parameters(schema: Json, problem: str) -> None:
    found = problem_of(schema)
    assert found is not None
    assert found.startswith(problem)
    assert sound_parameters(schema) == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("reference", "found"),
    [("#", {"a/b": [1, {"~": 2}], "c d": 3}), ("#/a~1b/1/~0", 2), ("#/c%20d", 3), ("#/a~1b/9", None), ("#x", None), ("x", None)],
)
def test_a_reference_names_a_part_of_its_document(reference: str, found: Json) -> None:
    assert target(reference, {"a/b": [1, {"~": 2}], "c d": 3}) == found


@pytest.mark.parametrize(
    "parameters",
    [
        {"type": "object", "properties": "abc"},
        {"type": "array"},
        {"type": "object", "properties": {"a": {"description": "x" * LARGEST_SCHEMA}}},
    ],
)
def test_no_request_lets_in_a_schema_that_no_model_can_be_offered(parameters: JsonObject) -> None:
    named = {"name": "f", "parameters": parameters}
    for model, body in (
        (ToolCreate, {"source_code": "", "json_schema": named}),
        (ToolCreate, {"source_code": "", "args_json_schema": parameters}),
        (ToolUpdate, {"json_schema": named}),
        (ToolUpdate, {"args_json_schema": parameters}),
        (ToolRunFromSource, {"source_code": "", "args": {}, "json_schema": named}),
        (ClientToolCreate, {"name": "f", "parameters": parameters}),
    ):
        with pytest.raises(ValidationError, match=r"json_schema|parameters"):
            model.model_validate(body)


@pytest.mark.parametrize("schema", [{"name": "f", "parameters": []}, {"name": "f", "description": 1}])
def test_a_functions_schema_has_parameters_and_a_description_of_their_kinds(schema: JsonObject) -> None:
    with pytest.raises(ValidationError, match=r"parameters|description"):
        ToolCreate.model_validate({"source_code": "", "json_schema": schema})


def test_a_source_has_at_most_256_kb() -> None:
    assert ToolCreate(source_code="#" * LARGEST_SOURCE)
    for model in (ToolCreate, ToolUpdate, ToolRunFromSource):
        with pytest.raises(ValidationError, match=f"at most {LARGEST_SOURCE} characters"):
            model.model_validate(
                {"source_code": "#" * (LARGEST_SOURCE + 1), "args": {}}
                if model is ToolRunFromSource
                else {"source_code": "#" * (LARGEST_SOURCE + 1)}
            )


def test_a_small_schema_is_checked_once_in_a_process_and_a_large_one_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[Json] = []

    def counted(schema: Json) -> str | None:
        checked.append(schema)
        return problem_of(schema)

    monkeypatch.setattr(json_schema, "problem_of", counted)
    small: JsonObject = {"type": "object", "properties": {"of_this_test": {"type": "string"}}}
    large: JsonObject = {**small, "description": "x" * SMALL_SCHEMA}
    for schema in (small, large):
        for _ in range(2):
            assert sound_parameters(copy.deepcopy(schema)) == schema
    assert checked == [small, large, large]
