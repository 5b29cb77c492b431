"""Tools by name and id: saved, listed, changed and deleted; the built-in ones, which are there without being stored."""

from __future__ import annotations

import pytest

from hibernaut.domain.tools.builtin.builtin_tools import builtin_id, builtin_tools
from hibernaut.domain.wire.listing import Page
from hibernaut.schemas.errors import InvalidArgument, InvalidToolSource, NameTaken, NotFound, Unprocessable
from hibernaut.schemas.tools.tool import StoredTool, ToolCreate, ToolUpdate
from hibernaut.services.tools.tools import ToolFilter
from tests.support.house import House


def source(name: str = "roll", extra: str = "") -> str:
    return f'def {name}(sides: int) -> int:\n    """Roll a die.{extra}\n\n    Args:\n        sides: How many.\n    """\n    return 4\n'


def save(house: House, **fields: object) -> StoredTool:
    return house.services.tools.save(ToolCreate.model_validate({"source_code": source(), **fields}))


def test_a_tool_is_saved_under_its_functions_name_and_saved_again_as_the_same(house: House) -> None:
    first = save(house, tags=["dice"])
    second = save(house, source_code=source(extra=" Twice."), return_char_limit=10)
    assert (first.name, first.source_type, first.description) == ("roll", "json", "Roll a die.")
    assert (second.id, second.tags, second.return_char_limit) == (first.id, ["dice"], 10)
    assert second.description == "Roll a die. Twice."
    assert first.metadata_ != second.metadata_
    assert house.stores.tools.get(first.id) == second.model_copy(update={"version": 2})


def test_a_save_that_was_overtaken_by_one_of_the_same_name_changes_that_tool(contested: House) -> None:
    others: list[StoredTool] = []
    contested.table.by = lambda: others.append(save(contested, tags=["first"]))
    tool = save(contested, return_char_limit=2)
    assert (tool.id, tool.tags, tool.return_char_limit) == (others[0].id, ["first"], 2)
    assert contested.services.tools.list(ToolFilter(tool_types=["custom"]), Page()) == [tool.model_copy(update={"version": 2})]


def test_a_given_schema_is_kept_as_it_is_and_one_of_arguments_is_used(house: House) -> None:
    schema = {"name": "mine", "description": "Own.", "parameters": {"type": "object", "properties": {}}}
    assert save(house, json_schema=schema).json_schema == schema
    args = {"type": "object", "properties": {"sides": {"type": "integer", "description": "n"}}, "required": ["sides"]}
    derived = save(house, source_code="def bare(sides):\n    return 1\n", args_json_schema=args).json_schema
    assert derived is not None
    assert (derived["name"], derived["parameters"]["required"]) == ("bare", ["sides"])


def test_what_cannot_be_a_tool_is_refused(house: House) -> None:
    for refused, fields in (
        (InvalidToolSource, {"source_code": "def broken(:\n  pass"}),
        (InvalidToolSource, {"source_code": "x = 1"}),
        (InvalidArgument, {"source_code": source("x" * 49)}),
        (Unprocessable, {"source_type": "typescript", "source_code": "function f() {}"}),
        (InvalidArgument, {"json_schema": {"description": "no name"}}),
        (NameTaken, {"source_code": source("send_message")}),
    ):
        with pytest.raises(refused):
            save(house, **fields)
    with pytest.raises(InvalidToolSource, match="line 1"):
        save(house, source_code="def broken(:\n  pass")


def test_every_filter_admits_what_it_names(house: House) -> None:
    tool, tools = save(house), house.services.tools
    builtins = set(builtin_tools())
    for wanted, found in (
        (ToolFilter(), builtins | {"roll"}),
        (ToolFilter(name="roll"), {"roll"}),
        (ToolFilter(names=["roll", "memory"]), {"roll", "memory"}),
        (ToolFilter(tool_ids=[tool.id]), {"roll"}),
        (ToolFilter(search="ROL"), {"roll"}),
        (ToolFilter(tool_types=["custom"]), {"roll"}),
        (ToolFilter(exclude_tool_types=["custom"]), builtins),
        (ToolFilter(return_only_letta_tools=True), builtins),
    ):
        assert {one.name for one in tools.list(wanted, Page())} == found, wanted
        assert tools.count(wanted) == len(found)
    assert tools.list(ToolFilter(), Page(limit=1, descending=True))[0].name == "roll"
    with pytest.raises(InvalidArgument, match="letta_core"):
        tools.list(ToolFilter(tool_types=["odd"]), Page())


def test_a_tool_is_renamed_by_schema_and_source_together(house: House) -> None:
    tool, tools = save(house), house.services.tools
    save(house, source_code=source("taken"))
    renamed = {**(tool.json_schema or {}), "name": "throw"}
    after = tools.update(tool.id, ToolUpdate(source_code=source("throw"), json_schema=renamed))
    assert after.name == "throw"
    assert set(house.stores.tools.by_name(["roll", "throw"])) == {"throw"}
    with pytest.raises(InvalidArgument, match="does not match"):
        tools.update(tool.id, ToolUpdate(source_code=source("other")))
    with pytest.raises(NameTaken):
        tools.update(tool.id, ToolUpdate(json_schema={**renamed, "name": "taken"}))
    with pytest.raises(InvalidArgument, match="not both"):
        tools.update(tool.id, ToolUpdate(json_schema=renamed, args_json_schema={}))
    assert tools.retrieve(tool.id).name == "throw"


def test_an_update_of_the_source_alone_leaves_the_schema(house: House) -> None:
    tool = save(house)
    after = house.services.tools.update(tool.id, ToolUpdate(source_code=source(extra=" New."), tags=["x"]))
    assert (after.json_schema, after.tags, after.description) == (tool.json_schema, ["x"], tool.description)
    assert after.source_code != tool.source_code


def test_a_deleted_tool_leaves_every_agent_and_frees_its_name(house: House) -> None:
    tool = save(house)
    agent = house.agent(tool_ids=[tool.id])
    house.services.tools.delete(tool.id)
    assert tool.id not in house.stored(agent.id).tool_ids
    with pytest.raises(NotFound, match=f"Tool with id {tool.id} not found."):
        house.services.tools.delete(tool.id)
    assert save(house).id != tool.id


def test_of_a_built_in_tool_only_its_settings_change(house: House) -> None:
    tools, tool_id = house.services.tools, builtin_id("memory_insert")
    after = tools.update(tool_id, ToolUpdate(return_char_limit=9, default_requires_approval=True))
    assert (after.return_char_limit, tools.retrieve(tool_id).return_char_limit) == (9, 9)
    again = tools.update(tool_id, ToolUpdate(tags=["x"]))
    assert (again.return_char_limit, again.tags) == (9, ["x"])
    assert house.all_services.of("other").tools.retrieve(tool_id).return_char_limit == 50_000
    assert [rule.type for rule in house.agent().tool_rules or []] == ["requires_approval"]
    for change in (ToolUpdate(source_code="def f(): ..."), ToolUpdate(json_schema={"name": "other"})):
        with pytest.raises(InvalidArgument, match="built-in"):
            tools.update(tool_id, change)
    with pytest.raises(InvalidArgument, match="built-in"):
        tools.delete(tool_id)
    assert {tool.name for tool in tools.builtin()} == set(builtin_tools())
