"""Which schemas a provider may hold a model to strictly. Rules: OpenAI, "Structured outputs", supported schemas."""

from __future__ import annotations

import pytest

from hibernaut.adapters.model.strict_schemas import closed
from hibernaut.schemas.base import Json, JsonObject

TEXT = {"type": "string"}
POINT = {"type": "object", "properties": {"x": TEXT}, "required": ["x"]}
SHUT = POINT | {"additionalProperties": False}


def of(value: Json) -> JsonObject:
    return {"type": "object", "properties": {"v": value}, "required": ["v"]}


@pytest.mark.parametrize(
    ("given", "strict"),
    [
        (POINT, SHUT),
        ({"type": "array", "items": POINT}, {"type": "array", "items": SHUT}),
        ({"anyOf": [POINT, {"type": "null"}]}, {"anyOf": [SHUT, {"type": "null"}]}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"enum": ["a"]}, {"enum": ["a"]}),
    ],
)
def test_a_schema_is_closed_at_every_level(given: JsonObject, strict: JsonObject) -> None:
    assert closed(of(given)) == of(strict) | {"additionalProperties": False}


@pytest.mark.parametrize(
    "given",
    [
        POINT | {"required": []},
        {"type": "object"},
        {"type": "array"},
        {},
        True,
        {"anyOf": [POINT | {"required": []}, TEXT]},
        {"type": ["object", "null"], "properties": {}},
        {"$ref": "#/$defs/Point"},
        {"type": "array", "prefixItems": [TEXT]},
    ],
)
def test_a_schema_that_cannot_be_closed_is_not_sent_as_strict(given: Json) -> None:
    assert closed(of(given)) is None
