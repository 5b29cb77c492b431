"""A model's arguments made to fit: what is converted, what is left alone, what is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.tools.tool_arguments import check_prefill, coerce
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import InvalidArgument


def tool(value: JsonObject, *, required: bool = True) -> JsonObject:
    parameters = {"type": "object", "properties": {"value": value}, "required": ["value"] if required else []}
    return {"name": "tool", "description": "A tool.", "parameters": parameters}


def coerced(value: Json, schema: JsonObject) -> Json:
    return coerce({"value": value}, tool(schema))["value"]


@given(st.text() | st.sampled_from(['{"a": 1}', "true", "5", "null", "[1]"]))
def test_a_string_is_never_touched(text: str) -> None:
    assert coerced(text, {"type": "string"}) == text


@given(st.integers())
def test_an_integer_is_read_from_its_text(number: int) -> None:
    assert coerced(str(number), {"type": "integer"}) == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_read_from_its_text(number: float) -> None:
    assert coerced(repr(number), {"type": "number"}) == number


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
schemas = st.recursive(
    st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object", "nonsense"]).map(
        lambda kind: {"type": kind}
    ),
    lambda inner: (
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}) | st.fixed_dictionaries({"anyOf": st.lists(inner)})
    ),
    max_leaves=4,
)


@given(json_values, schemas)
def test_fitting_twice_changes_nothing_and_refusals_name_the_argument(value: Json, schema: JsonObject) -> None:
    refusals = []
    try:
        once = coerced(value, schema)
        assert repr(coerced(once, schema)) == repr(once)
    except InvalidArgument as error:
        refusals.append(error.detail)
    assert all("value" in detail for detail in refusals)


@pytest.mark.parametrize(
    ("value", "schema", "expected"),
    [
        ("5.0", {"type": "integer"}, 5),
        (5.0, {"type": "integer"}, 5),
        (5, {"type": "number"}, 5),
        ("1e3", {"type": "number"}, 1000.0),
        ("TRUE", {"type": "boolean"}, True),
        (0, {"type": "boolean"}, False),
        (True, {"type": "string"}, "true"),
        ({"ä": 1}, {"type": "string"}, '{"ä": 1}'),
        ('["1", 2]', {"type": "array", "items": {"type": "integer"}}, [1, 2]),
        ('{"n": "1"}', {"type": "object", "properties": {"n": {"type": "integer"}}}, {"n": 1}),
        ({"n": "1", "more": [1]}, {"type": "object", "properties": {"n": {"type": "integer"}}}, {"n": 1, "more": [1]}),
        ({"n": None}, {"type": "object", "properties": {"n": {"type": "integer"}}}, {"n": None}),
        (["1", "2"], {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}, [1, "2"]),
        ("5", {"anyOf": [{"type": "integer"}, {"type": "string"}]}, "5"),
        ("5", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, 5),
        (None, {"type": ["integer", "null"]}, None),
        ("5", {"$ref": "#/properties/other"}, "5"),
        ("x", {"enum": ["x", "y"]}, "x"),
        ("2", {"type": "integer", "enum": [1, 2]}, 2),
        (["1"], {}, ["1"]),
        (["1"], {"type": {"what": "is this"}}, ["1"]),
    ],
)
def test_a_value_that_can_be_made_to_fit_is(value: Json, schema: JsonObject, expected: Json) -> None:
    result = coerced(value, schema)
    assert (type(result), result) == (type(expected), expected)


@pytest.mark.parametrize(
    ("value", "schema", "reason"),
    [
        ("abc", {"type": "integer"}, "argument 'value': expected an integer, not the string 'abc'"),
        (True, {"type": "integer"}, "expected an integer, not a boolean"),
        (1.5, {"type": "integer"}, "expected an integer, not the number 1.5"),
        ("1e999", {"type": "number"}, "expected a number"),
        (json.loads("NaN"), {"type": "number"}, "expected a number"),
        ("9" * 5000, {"type": "integer"}, "expected an integer"),
        ("yes", {"type": "boolean"}, "expected true or false"),
        (None, {"type": "string"}, "expected a string, not null"),
        ("a", {"type": "array"}, "expected an array, not a string"),
        ("[" * 100_000, {"type": "array"}, "expected an array"),
        ([1, "x"], {"type": "array", "items": {"type": "integer"}}, r"argument 'value\[1\]': expected an integer"),
        ({}, {"type": "object", "required": ["n"]}, "required argument missing: value.n"),
        ("z", {"enum": ["x", "y"]}, r'expected one of \["x", "y"\]'),
        ([1], {"type": "array", "minItems": 2}, "at least 2"),
        ([1, 2], {"type": "array", "maxItems": 1}, "at most 1"),
        ("x", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "expected an integer"),
        ("x", {"$ref": "#/properties/value"}, "nested too deeply"),
    ],
)
def test_a_value_that_cannot_be_made_to_fit_is_refused_with_what_was_expected(
    value: Json, schema: JsonObject, reason: str
) -> None:
    with pytest.raises(InvalidArgument, match=reason):
        coerced(value, schema)


def test_arguments_that_the_tool_does_not_have_are_dropped() -> None:
    assert coerce({"value": "x", "request_heartbeat": True}, tool({"type": "string"})) == {"value": "x"}


def test_missing_arguments_are_named_all_at_once() -> None:
    schema = tool({"type": "string"})
    schema["parameters"]["required"] = ["value", "other"]
    with pytest.raises(InvalidArgument, match="required arguments missing: value, other"):
        coerce({}, schema)


def test_null_stands_for_an_optional_argument_that_was_not_given() -> None:
    assert coerce({"value": None}, tool({"type": "integer"}, required=False)) == {"value": None}


@pytest.mark.parametrize("schema", [None, {}, {"name": "tool"}, {"parameters": {}}, {"parameters": None}])
def test_a_schema_that_says_nothing_leaves_the_arguments_alone(schema: JsonObject | None) -> None:
    assert coerce({"value": "5"}, schema) == {"value": "5"}


def test_a_prefill_fits_the_tool_or_is_refused() -> None:
    schema = tool({"type": "integer"})
    assert check_prefill({"value": "5"}, schema) == {"value": 5}
    assert check_prefill({}, schema) == {}
    with pytest.raises(InvalidArgument, match="expected an integer"):
        check_prefill({"value": "x"}, schema)
    with pytest.raises(InvalidArgument, match="does not have: other"):
        check_prefill({"other": 1}, schema)
    with pytest.raises(InvalidArgument, match="does not have: value"):
        check_prefill({"value": 1}, None)
