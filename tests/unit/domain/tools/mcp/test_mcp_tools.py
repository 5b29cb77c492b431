"""Tools of MCP servers as ours: names, schemas, variables (RT 10.8)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.tools.builtin.builtin_tools import builtin_tools
from hibernaut.domain.tools.mcp import mcp_schemas
from hibernaut.domain.tools.mcp.mcp_results import (
    MOST_IMAGE_BYTES,
    MOST_IMAGES,
    McpBinary,
    McpResult,
    McpText,
    ShownMcpResult,
    shown,
)
from hibernaut.domain.tools.mcp.mcp_schemas import NoModelTakes, fingerprint, offered
from hibernaut.domain.tools.mcp.mcp_tools import McpFacts, facts_of, is_of, names_for, resolved
from hibernaut.schemas.content import Base64Image
from hibernaut.schemas.json_schema import problem_of, sound_parameters
from hibernaut.schemas.tools.tool import MAX_NAME, Tool, ToolType
from tests.support.pictures import WHOLE, encoded, png

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
    assert resolved("Bearer {{ TOKEN }}{{ A | b }}", {"TOKEN": "{{ X }}"}) == "Bearer {{ X }}b"
    with pytest.raises(KeyError, match="TOKEN"):
        resolved("{{TOKEN}}", {})
    assert resolved("{{ lower }}", {}) == "{{ lower }}"


def test_a_result_is_one_text() -> None:
    parts = (McpText("a"), McpText(""), McpBinary("image", "image/png", 3), McpText("\ud800"))
    assert shown(McpResult(parts)).text == "a\n[image of the type image/png, 3 bytes, which cannot be shown]\n?"
    assert shown(McpResult((), structured={"a": "ü"})).text == '{"a": "ü"}'
    assert shown(McpResult(())).text == "The tool returned nothing."


def picture(data: bytes, media_type: str = "image/png", kind: str = "image") -> McpBinary:
    return McpBinary(kind, media_type, len(data), data=encoded(data))


@pytest.mark.parametrize("kind", ["image", "resource"])
def test_an_image_is_shown_as_what_its_bytes_are(kind: str) -> None:
    for media_type, data in WHOLE.items():
        read = shown(McpResult((McpText("See:"), picture(data, "text/html", kind))))
        assert read.text == f"See:\n[image 1: image of the type {media_type}, 2 by 3 pixels, {len(data)} bytes]"
        assert [image.source for image in read.images] == [Base64Image(media_type=media_type, data=encoded(data))]


NOT_IMAGES = {
    "cut off": encoded(png()[:-4]),
    "damaged": encoded(png().replace(b"IDAT", b"IDAX")),
    "a page": encoded(b"<html>"),
    "no base64": "%%%%",
    "base64 with line breaks": encoded(png())[:8] + "\n" + encoded(png())[8:],
    "letters of no alphabet": "ä" * 8,
    "nothing": "",
    "a program in XML": encoded(b"<svg onload='x'/>"),
    "9,000 pixels wide": encoded(png(9000, 1)),
}


@pytest.mark.parametrize("why", NOT_IMAGES)
def test_what_is_no_whole_image_is_a_line(why: str) -> None:
    read = shown(McpResult((McpBinary("image", "image/png", 99, data=NOT_IMAGES[why]),)))
    assert (read.text, read.images) == ("[image of the type image/png, 99 bytes, which cannot be shown]", ())


def test_images_beyond_the_limits_are_told_and_left_out() -> None:
    many = shown(McpResult((picture(png()),) * (MOST_IMAGES + 2)))
    assert (len(many.images), many.text.count("which is left out")) == (MOST_IMAGES, 2)
    half = png(noise=b"x" * (MOST_IMAGE_BYTES // 2))
    large = shown(McpResult((picture(half), picture(half), picture(png()))))
    assert [len(image.source.data or "") for image in large.images if image.source.type == "base64"] == [
        len(encoded(half)),
        len(encoded(png())),
    ]
    assert large.text.splitlines()[1].endswith(
        f"which is left out: {MOST_IMAGES} images with {MOST_IMAGE_BYTES} bytes are shown]"
    )


@pytest.mark.parametrize(
    ("media_type", "data", "line"),
    [
        ("text/plain; charset=utf-8", "größe".encode(), "größe"),
        ("application/json", b'{"a": 1}', '{"a": 1}'),
        ("text/plain", b"\xff\xfe", "[resource of the type text/plain, 2 bytes, which cannot be shown]"),
        ("application/pdf", b"%PDF", "[resource of the type application/pdf, 4 bytes, which cannot be shown]"),
    ],
)
def test_a_resource_in_bytes_is_read_where_it_is_a_text(media_type: str, data: bytes, line: str) -> None:
    assert shown(McpResult((picture(data, media_type, "resource"),))) == ShownMcpResult(line)


def test_a_fingerprint_tells_schemas_apart() -> None:
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1}) != fingerprint({"a": 1})
