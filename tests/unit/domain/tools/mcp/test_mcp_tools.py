"""Tools of MCP servers as ours: names, schemas, variables (run-time digest 10.8)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.tools.builtin.builtin_tools import builtin_tools
from hibernaut.domain.tools.mcp import mcp_schemas
from hibernaut.domain.tools.mcp.mcp_results import McpBinary, McpResult, McpText, text_of
from hibernaut.domain.tools.mcp.mcp_schemas import NoModelTakes, fingerprint, offered
from hibernaut.domain.tools.mcp.mcp_tools import McpFacts, facts_of, is_of, names_for, resolved, variables_in
from hibernaut.schemas.json_schema import problem_of, sound_parameters
from hibernaut.schemas.tools.tool import MAX_NAME, Tool, ToolType

TREE = {"type": "object", "properties": {"left": {"$ref": "#/$defs/T"}, "right": {"$ref": "#/$defs/T"}}}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "properties", "items", "$ref", "anyOf", "required", "x"]), inner, max_size=4),
    max_leaves=15,
)  # fmt: skip


def parameters(schema: Any) -> Any:
    return offered("t", "d", schema)["parameters"]


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({}, {"type": "object", "properties": {}, "required": []}),
        (
            {"$schema": "x", "properties": {"a": {"type": "string"}}, "required": ["a", "gone"]},
            {"properties": {"a": {"type": "string"}}, "required": ["a"], "type": "object"},
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/A", "description": "why"}},
                "$defs": {"A": {"type": "string"}},
            },
            {
                "additionalProperties": False,
                "type": "object",
                "properties": {"a": {"type": "string", "description": "why"}},
                "required": [],
            },
        ),
        (
            {"type": "object", "properties": {"a": {"anyOf": [{"type": "null"}, {"type": "null"}]}, "b": {"type": "array"}}},
            {
                "additionalProperties": False,
                "type": "object",
                "properties": {"a": {"anyOf": [{"type": "null"}]}, "b": {"type": "array", "items": {"type": "string"}}},
                "required": [],
            },
        ),
    ],
)
def test_a_schema_is_made_one_that_providers_take(schema: Any, shown: Any) -> None:
    assert parameters(schema) == shown


@pytest.mark.parametrize(
    "schema", [5, None, [], {"type": "string"}, {"properties": 5}, {"properties": {"a": 5}}, {"x": "y" * 200_000}]
)
def test_a_schema_that_no_model_takes_is_told(schema: Any) -> None:
    with pytest.raises(NoModelTakes):
        offered("t", None, schema)


def test_a_recursive_schema_is_written_as_deep_as_it_fits() -> None:
    shown = parameters({"$ref": "#/$defs/T", "$defs": {"T": TREE}})
    assert "$ref" not in str(shown)
    assert problem_of(shown) is None
    assert shown["properties"]["left"]["properties"]["right"]["properties"]


@given(JSON)
def test_whatever_a_server_writes_is_offered_as_it_is_or_told(schema: Any) -> None:
    try:
        made = offered("t", "d", schema)
    except NoModelTakes:
        return
    assert sound_parameters(made["parameters"]) == made["parameters"]
    assert made[mcp_schemas.STATUS] in ("STRICT_COMPLIANT", "NON_STRICT_ONLY")


def test_a_long_description_is_cut() -> None:
    assert len(offered("t", "d" * 100_000, {})["description"]) == mcp_schemas.LONGEST_DESCRIPTION


@given(st.text(max_size=150), st.text(max_size=100))
def test_a_name_is_one_that_providers_and_the_table_take(tool: str, server: str) -> None:
    names = names_for(tool, server)
    assert len(set(names)) == len(names) >= 1
    for name in names:
        assert 0 < len(name) <= MAX_NAME
        assert name.isascii()
        assert name not in builtin_tools()
    assert names == names_for(tool, server)


def test_a_tool_keeps_its_name_where_it_can() -> None:
    assert names_for("get_weather", "birds")[:2] == ("get_weather", "birds_get_weather")
    assert names_for("run_code", "birds")[0] == "birds_run_code"
    assert names_for("notes/list.all", "b")[0] == "notes_list_all"
    long = names_for("a" * 60, "b")[0]
    assert (len(long), long[:39]) == (MAX_NAME, "a" * 39)
    assert names_for("a" * 60, "b") != names_for("a" * 61, "b")


def test_the_facts_of_a_tool_are_read_as_they_were_written() -> None:
    facts = McpFacts("mcp_server-1", "birds", "get", "abc", "missing")
    tool = Tool(id="tool-1", tool_type=ToolType.EXTERNAL_MCP, name="get", metadata_=facts.metadata())
    assert facts_of(tool) == facts
    assert is_of(tool, "mcp_server-1", "x")
    assert not is_of(tool, "mcp_server-2", "birds")


@pytest.mark.parametrize("metadata", [None, {}, {"mcp": 5}, {"mcp": {"server_id": 5, "server_name": "birds"}}])
def test_a_tool_of_an_agent_file_names_its_server_by_its_tag(metadata: Any) -> None:
    tool = Tool(id="tool-1", tool_type=ToolType.EXTERNAL_MCP, name="get", tags=["x", "mcp:birds"], metadata_=metadata)
    assert facts_of(tool) == McpFacts("", "birds", "get")
    assert is_of(tool, "mcp_server-1", "birds")
    assert not is_of(tool.model_copy(update={"tool_type": ToolType.CUSTOM}), "mcp_server-1", "birds")


def test_variables_of_headers_are_filled_from_the_agent() -> None:
    assert variables_in("Bearer {{ TOKEN }} {{A|b}}") == {"TOKEN"}
    assert resolved("Bearer {{ TOKEN }}{{ A | b }}", {"TOKEN": "{{ X }}"}) == "Bearer {{ X }}b"
    with pytest.raises(KeyError, match="TOKEN"):
        resolved("{{TOKEN}}", {})
    assert resolved("{{ lower }}", {}) == "{{ lower }}"


def test_a_result_is_one_text() -> None:
    parts = (McpText("a"), McpText(""), McpBinary("image", "image/png", 3), McpText("\ud800"))
    assert text_of(McpResult(parts)) == "a\n[image of the type image/png, 3 bytes, which cannot be shown as text]\n?"
    assert text_of(McpResult((), structured={"a": "ü"})) == '{"a": "ü"}'
    assert text_of(McpResult(())) == "The tool returned nothing."


def test_a_fingerprint_tells_schemas_apart() -> None:
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1}) != fingerprint({"a": 1})
