"""The definitions of tools for Anthropic's Messages API, and which of them are strict. Pure.

The API compiles the schemas of all strict tools of a request into one grammar, and refuses the whole request where that fails.
Any number of other tools may stand beside them. Sources: "Structured outputs", limitations of JSON schemas and complexity limits;
camel-ai/camel#4171, elie222/inbox-zero#2323.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hibernaut.adapters.model.strict_schemas import closed
from hibernaut.ports.model import ToolSpec
from hibernaut.schemas.base import Json, JsonObject

MOST_STRICT = 20
"""Strict tools of a request."""
MOST_UNIONS = 16
"""Parameters with several types, over all strict tools. Of optional parameters, which are counted too, `closed` leaves none."""
_REFUSED = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "maxItems"})
"""Keywords of closed schemas that the grammar does not have; `minItems` it has for 0 and 1."""


def definitions(tools: Sequence[ToolSpec], *, strict: bool) -> list[JsonObject]:
    """The tools in their order. `strict`: the model supports strict tools; tools that it would refuse are sent as non-strict."""
    result: list[JsonObject] = []
    count = unions = 0
    for tool in tools:
        definition: JsonObject = {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
        schema = closed(tool.parameters) if strict and tool.strict and count < MOST_STRICT else None
        parts = list(_parts(schema))
        more = sum("anyOf" in part or isinstance(part.get("type"), list) for part in parts)
        if schema is not None and unions + more <= MOST_UNIONS and all(_compiles(part) for part in parts):
            definition |= {"input_schema": schema, "strict": True}
            count, unions = count + 1, unions + more
        result.append(definition)
    return result


def output_schema(schema: JsonObject) -> JsonObject | None:
    """The schema in the form of structured outputs; None: the provider may refuse it."""
    form = closed(schema)
    return form if form is not None and all(_compiles(part) for part in _parts(form)) else None


def _parts(schema: Json) -> Iterator[JsonObject]:
    """A closed schema and all schemas inside it."""
    if not isinstance(schema, dict):
        return
    yield schema
    properties = schema.get("properties")
    inner = [*(schema.get("anyOf") or ()), schema.get("items"), *(properties.values() if isinstance(properties, dict) else ())]
    for each in inner:
        yield from _parts(each)


def _compiles(schema: JsonObject) -> bool:
    return _REFUSED.isdisjoint(schema) and schema.get("minItems", 0) in (0, 1)
