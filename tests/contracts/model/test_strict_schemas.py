"""Which schemas a provider may hold a model to strictly.

`complaints` are OpenAI's rules ("Structured outputs", supported schemas; google/adk-java#1476; docker/docker-agent#4155), written
apart from the code that it judges.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.adapters.model.strict_schemas import closed
from hibernaut.schemas.base import Json, JsonObject

TEXT = {"type": "string"}
POINT = {"type": "object", "properties": {"x": TEXT}, "required": ["x"]}
SHUT = POINT | {"additionalProperties": False}
REFUSED = ("allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "patternProperties", "default")


def of(value: Json) -> JsonObject:
    return {"type": "object", "properties": {"v": value}, "required": ["v"]}


def complaints(schema: Any, *, root: bool = True, depth: int = 0) -> Iterator[str]:
    """What the provider refuses in a strict schema."""
    if not isinstance(schema, dict):
        yield "a schema is an object"
        return
    if root and (schema.get("type") != "object" or "anyOf" in schema):
        yield "the root is an object, and no anyOf"
    if depth > 10:
        yield "more than ten levels"
    yield from (f"{word} is not permitted" for word in REFUSED if word in schema)
    if "$ref" in schema and len(schema) > 1:
        yield "$ref cannot have keywords beside it"
    if not {"type", "anyOf", "$ref"} & schema.keys():
        yield "a schema has a type"
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "object" in kinds:
        if schema.get("additionalProperties") is not False:
            yield "additionalProperties is to be false"
        if not isinstance(schema.get("properties"), dict) or set(schema.get("required", [None])) != set(schema["properties"]):
            yield "every property is to be required"
    if "array" in kinds and "items" not in schema:
        yield "an array has items"
    first = [
        next(iter(each["properties"]), None)
        for each in schema.get("anyOf", ())
        if isinstance(each, dict) and "properties" in each
    ]
    if len(set(first)) < len(first):
        yield "objects of anyOf share a first property"
    for each, deeper in _inside(schema):
        yield from complaints(each, root=False, depth=depth + deeper)


def _inside(schema: JsonObject) -> Iterator[tuple[Any, int]]:
    """The schemas inside a schema, each with the number of levels between."""
    for each in (*(schema.get("properties") or {}).values(), *schema.get("$defs", {}).values()):
        yield each, 1
    if "items" in schema:
        yield schema["items"], 1
    for each in schema.get("anyOf", ()):
        yield each, 0


@pytest.mark.parametrize(
    ("given_schema", "strict"),
    [
        (POINT, SHUT),
        (SHUT, SHUT),
        ({"type": "array", "items": POINT}, {"type": "array", "items": SHUT}),
        ({"anyOf": [POINT, {"type": "null"}]}, {"anyOf": [SHUT, {"type": "null"}]}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["a"]}),
        ({"type": "integer", "minimum": 1, "description": "one"}, {"type": "integer", "minimum": 1, "description": "one"}),
        (
            {"type": "object", "properties": {}},
            {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
        ),
    ],
)
def test_a_schema_is_closed_at_every_level(given_schema: JsonObject, strict: JsonObject) -> None:
    assert closed(of(given_schema)) == of(strict) | {"additionalProperties": False}


@pytest.mark.parametrize(
    "value",
    [
        POINT | {"required": []},
        POINT | {"additionalProperties": True},
        POINT | {"additionalProperties": TEXT},
        POINT | {"required": [["x"]]},
        {"type": "object"},
        {"type": "array"},
        {},
        True,
        {"enum": ["a"]},
        {"type": "string", "enum": []},
        {"anyOf": [POINT | {"required": []}, TEXT]},
        {"anyOf": [TEXT, {"description": "anything"}]},
        {"anyOf": [POINT, POINT]},
        {"anyOf": [TEXT], "type": "string"},
        {"anyOf": []},
        {"type": ["object", "null"], "properties": {}},
        {"type": ["array", "null"], "items": TEXT},
        {"$ref": "#/$defs/Point"},
        {"allOf": [POINT]},
        {"oneOf": [TEXT, {"type": "null"}]},
        {"type": "string", "default": "a"},
        {"type": "string", "pattern": "(?=a)"},
        {"type": "array", "prefixItems": [TEXT], "items": TEXT},
    ],
)
def test_a_schema_that_cannot_be_closed_is_not_sent_as_strict(value: Json) -> None:
    assert closed(of(value)) is None


@pytest.mark.parametrize(
    "root", [{"anyOf": [POINT]}, {"type": "array", "items": POINT}, TEXT, {}, None, POINT | {"$defs": {"a": TEXT}}]
)
def test_the_root_is_a_plain_object(root: Json) -> None:
    assert closed(root) is None


def test_a_schema_beyond_the_limits_is_loose() -> None:
    deep: JsonObject = TEXT
    for _ in range(6):
        deep = of(deep)
    names = [f"p{number}" for number in range(101)]
    wide = {"type": "object", "properties": dict.fromkeys(names, TEXT), "required": names}
    many = of({"type": "string", "enum": [str(number) for number in range(501)]})
    assert [closed(each) for each in (deep, wide, many)] == [None, None, None]


WORDS = st.sampled_from(["a", "b", "c"])
LEAVES = st.one_of(
    st.booleans(),
    st.sampled_from(["string", "integer", "null", "object", "array"]).map(lambda kind: {"type": kind}),
    st.lists(st.sampled_from(["string", "null", "object"]), max_size=3).map(lambda kinds: {"type": kinds}),
    st.sampled_from(
        [{}, {"enum": ["a", 1]}, {"const": 1}, {"$ref": "#/$defs/a"}, {"$ref": "#"}, {"type": "string", "default": "x"}]
    ),
)


def _grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    properties = st.dictionaries(WORDS, inner, max_size=3)
    objects = st.builds(
        lambda properties, keep, more: {"type": "object", "properties": properties, "required": list(properties)[:keep], **more},
        properties,
        st.integers(1, 3),
        st.sampled_from(
            [{}, {"additionalProperties": False}, {"additionalProperties": True}, {"$defs": {"a": TEXT}}, {"description": "d"}]
        ),
    )
    several = st.builds(
        lambda word, parts: {word: parts}, st.sampled_from(["anyOf", "allOf", "oneOf"]), st.lists(inner, max_size=3)
    )
    return st.one_of(objects, objects, several, inner.map(lambda items: {"type": "array", "items": items}), inner.map(of))


SCHEMAS = st.recursive(LEAVES, _grown, max_leaves=12)


@given(SCHEMAS)
def test_what_is_sent_strict_keeps_every_rule(schema: Any) -> None:
    for root in (schema, of(schema)):
        strict = closed(root)
        if strict is not None:
            assert list(complaints(strict)) == []
            assert closed(strict) == strict


def test_the_rules_find_what_breaks_them() -> None:
    for broken in (
        POINT,
        SHUT | {"required": []},
        of({}),
        of({"type": "array"}) | {"additionalProperties": False},
        {"anyOf": [SHUT]},
    ):
        assert list(complaints(broken))
