"""Which tools are strict for Claude. The limits are those of the page "Structured outputs" (camel-ai/camel#4171)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.adapters.model.anthropic.anthropic_tools import MOST_STRICT, MOST_UNIONS, definitions
from hibernaut.ports.model import ToolSpec

TEXT = {"type": "string"}
UNION = {"anyOf": [TEXT, {"type": "null"}]}


def tool(*values: Any, strict: bool = True) -> ToolSpec:
    """A tool with these parameters, all of them required."""
    properties = {f"v{number}": value for number, value in enumerate(values)}
    return ToolSpec("f", "Does it.", {"type": "object", "properties": properties, "required": list(properties)}, strict=strict)


def strict(*tools: ToolSpec) -> list[bool]:
    return [made.get("strict", False) for made in definitions(tools, strict=True)]


def test_a_strict_tool_is_closed_and_another_is_sent_as_it_is() -> None:
    closed, loose = definitions([tool(TEXT), tool(TEXT, strict=False)], strict=True)
    assert closed["input_schema"] == tool(TEXT).parameters | {"additionalProperties": False}
    assert loose == {"name": "f", "description": "Does it.", "input_schema": tool(TEXT).parameters}


def test_more_tools_than_may_be_strict_are_sent_loose() -> None:
    assert strict(*[tool(TEXT)] * (MOST_STRICT + 5)) == [True] * MOST_STRICT + [False] * 5


def test_parameters_of_several_types_are_counted_over_all_tools() -> None:
    half = tool(*[UNION] * (MOST_UNIONS // 2))
    assert strict(half, half, tool({"type": ["string", "null"]}), tool(TEXT)) == [True, True, False, True]


@pytest.mark.parametrize(
    "value",
    [
        {"type": "integer", "minimum": 0},
        {"type": "string", "maxLength": 10},
        {"type": "array", "items": {"type": "number", "multipleOf": 2}},
        {"type": "array", "items": TEXT, "minItems": 2},
        {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]},
        {"type": "object"},
    ],
)
def test_a_schema_that_the_grammar_does_not_have_is_sent_loose(value: Any) -> None:
    assert strict(tool(value), tool({"type": "array", "items": TEXT, "minItems": 1})) == [False, True]


@given(
    st.lists(
        st.builds(tool, st.sampled_from([TEXT, UNION, {"type": "integer", "minimum": 1}]), strict=st.booleans()), max_size=40
    )
)
def test_no_tool_is_left_out_and_no_limit_is_passed(tools: list[ToolSpec]) -> None:
    made = definitions(tools, strict=True)
    assert [each["name"] for each in made] == [each.name for each in tools]
    closed = [each for each in made if each.get("strict")]
    assert len(closed) <= MOST_STRICT
    assert sum(str(each).count("anyOf") for each in closed) <= MOST_UNIONS
