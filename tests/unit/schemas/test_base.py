"""A message about a wrong JSON value names what the value is, and a list of wrong values is one error."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import pytest
from pydantic import TypeAdapter, ValidationError

import hibernaut.schemas
from hibernaut.schemas.agents.agent import CreateAgentRequest
from hibernaut.schemas.agents.identity import NewProperties
from hibernaut.schemas.base import MOST_KEYS, Json, JsonObject, Schema, StrictSchema, kind_of
from hibernaut.schemas.runs.send import LettaRequest


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "null"),
        (True, "a boolean"),
        (0, "the number 0"),
        (-1.5, "the number -1.5"),
        (10**20, "a number"),
        (float("nan"), "a number"),
        ("top", "the text 'top'"),
        ("x" * 1_000, f"the text '{'x' * 80}'"),
        ([1], "a list"),
        ({"a": 1}, "an object"),
    ],
)
def test_a_value_is_named_by_its_kind(value: Json, kind: str) -> None:
    assert kind_of(value) == kind


def schemas() -> list[type[Schema]]:
    for module in pkgutil.walk_packages(hibernaut.schemas.__path__, "hibernaut.schemas."):
        importlib.import_module(module.name)
    found, level = [], [Schema]
    while level:
        level = [below for one in level for below in one.__subclasses__() if below.__module__.startswith("hibernaut.")]
        found += level
    return found


def slow(part: Json) -> Iterator[Json]:
    """The lists and dicts of a core schema that are read to their end, whatever is wrong in them."""
    if isinstance(part, list):
        for each in part:
            yield from slow(each)
    elif isinstance(part, dict):
        if part.get("type") in ("list", "dict") and not part.get("fail_fast"):
            yield part
        for each in part.values():
            yield from slow(each)


def test_a_list_or_dict_of_any_schema_is_read_up_to_its_first_invalid_element() -> None:
    models = schemas()
    assert len(models) > 300
    for model in models:
        model.model_rebuild()
        assert not list(slow(model.__pydantic_core_schema__)), model


@pytest.mark.parametrize(
    ("model", "body"),
    [
        (LettaRequest, {"messages": [{}] * 50}),
        (LettaRequest, {"client_tools": ["x"] * 50}),
        (CreateAgentRequest, {"tool_ids": [1] * 50}),
        (CreateAgentRequest, {"tool_rules": [{"type": "run_first"}] * 50}),
        (CreateAgentRequest, {"secrets": {str(number): number for number in range(50)}}),
    ],
)
def test_fifty_wrong_elements_are_one_error(model: type[Schema], body: JsonObject) -> None:
    with pytest.raises(ValidationError) as raised:
        model.model_validate(body)
    assert len({error["loc"][:2] for error in raised.value.errors()}) == 1


def test_many_unknown_keys_are_one_error_and_few_are_named() -> None:
    strict = [model for model in schemas() if issubclass(model, StrictSchema) and model is not StrictSchema]
    assert len(strict) > 40
    for model in strict:
        assert len(model.model_fields) * 2 < MOST_KEYS, model
        for number, expected in ((MOST_KEYS + 1, {"value_error"}), (3, {"extra_forbidden"})):
            with pytest.raises(ValidationError) as raised:
                model.model_validate({f"unknown_{place}": 1 for place in range(number)})
            errors = raised.value.errors()
            assert expected <= {error["type"] for error in errors}, model
            assert len(errors) == 1 or number == 3, model


def test_a_body_that_is_a_list_is_read_up_to_its_first_invalid_element() -> None:
    with pytest.raises(ValidationError) as raised:
        TypeAdapter(NewProperties).validate_python([{}] * 50)
    assert {error["loc"][0] for error in raised.value.errors()} == {0}
