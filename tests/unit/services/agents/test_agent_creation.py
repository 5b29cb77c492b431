"""What an agent starts with, and that it starts whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from hibernaut.domain.tools.tool_returns import unpack
from hibernaut.schemas.errors import Conflict, InvalidArgument, NotFound
from hibernaut.schemas.memory.block import CreateBlock
from hibernaut.schemas.tools.tool import ToolCreate
from hibernaut.services.agents.agents import AgentFilter
from tests.support.house import House, house_in
from tests.support.tables import CountingTable

SOURCE = 'def roll(sides: int) -> int:\n    """Roll a die.\n\n    Args:\n        sides: How many sides.\n    """\n    return 4\n'


def test_a_default_agent_has_its_base_tools_no_rules_and_only_a_system_message(house: House) -> None:
    state = house.services.agents.states.of_one(house.agent())
    assert [tool.name for tool in state.tools] == ["conversation_search", "memory_replace", "memory_insert"]
    assert state.tool_rules == []
    assert len(state.message_ids or []) == 1
    assert state.message_buffer_autoclear is False
    assert (state.max_files_open, state.per_file_view_window_char_limit) == (10, 25_000)


def test_a_legacy_agent_begins_with_a_spoken_opening_and_default_rules(house: House) -> None:
    agent = house.agent(agent_type="memgpt_v2_agent")
    loaded = house.stores.conversations.load(agent.id)
    assert loaded is not None
    assert [row.role for row in loaded.messages] == ["system", "assistant", "tool", "user"]
    assert {(rule.type, rule.tool_name) for rule in agent.tool_rules or []} == {
        ("exit_loop", "send_message"),
        ("continue_loop", "conversation_search"),
        ("continue_loop", "memory_replace"),
        ("continue_loop", "memory_insert"),
    }


def test_a_given_sequence_stands_in_place_of_the_opening(house: House) -> None:
    given = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    agent = house.agent(agent_type="memgpt_v2_agent", initial_message_sequence=given)
    loaded = house.stores.conversations.load(agent.id)
    assert loaded is not None
    assert [row.role for row in loaded.messages] == ["system", "user", "assistant", "tool"]
    assert unpack(loaded.messages[3].text()) == "None"
    empty = house.agent(agent_type="memgpt_v2_agent", initial_message_sequence=[])
    assert len(house.services.agents.states.of_one(empty).message_ids or []) == 1


def test_its_prompt_shows_its_blocks_new_and_shared_in_order(house: House) -> None:
    shared = house.services.blocks.create(CreateBlock(label="rules", value="be kind"))
    agent = house.agent(memory_blocks=[{"label": "human", "value": "Ann"}], block_ids=[shared.id])
    loaded = house.stores.conversations.load(agent.id)
    assert loaded is not None
    text = loaded.messages[0].text()
    assert text.index("<human>") < text.index("Ann") < text.index("<rules>") < text.index("be kind")
    assert "0 previous messages" in text
    assert house.stores.blocks.agents_of(shared.id) == [agent.id]
    blocks = house.services.agents.blocks(agent.id)
    assert [block.label for block in blocks] == ["human", "rules"]
    assert blocks[0].description


def test_a_tool_that_always_needs_approval_brings_its_rule(house: House) -> None:
    tool = house.services.tools.save(ToolCreate(source_code=SOURCE, default_requires_approval=True))
    agent = house.agent(tools=["roll"], tool_ids=[tool.id], include_base_tools=False)
    assert agent.tool_ids == [tool.id]
    assert [(rule.type, rule.tool_name) for rule in agent.tool_rules or []] == [("requires_approval", "roll")]


def test_a_workflow_agent_clears_its_buffer_and_a_subagent_is_hidden(house: House) -> None:
    assert house.agent(agent_type="workflow_agent").message_buffer_autoclear is True
    assert house.agent(tags=["role:subagent"]).hidden is True


def test_what_cannot_be_is_refused_and_leaves_nothing_behind(house: House) -> None:
    twice = [{"label": "human", "value": "a"}, {"label": "human", "value": "b"}]
    unknown = "block-00000000-0000-4000-8000-000000000000"
    for refused, fields in (
        (InvalidArgument, {"name": "a/b"}),
        (InvalidArgument, {"tools": ["no_such_tool"]}),
        (InvalidArgument, {"model": "noslash"}),
        (NotFound, {"model": "hibernaut/unknown"}),
        (NotFound, {"embedding": "hibernaut/unknown"}),
        (NotFound, {"block_ids": [unknown]}),
        (NotFound, {"folder_ids": ["source-00000000-0000-4000-8000-000000000000"]}),
        (Conflict, {"memory_blocks": twice}),
        (InvalidArgument, {"agent_type": "split_thread_agent"}),
        (InvalidArgument, {"max_files_open": 1001}),
    ):
        with pytest.raises(refused):
            house.agent(**fields)
    assert house.services.agents.count(AgentFilter(hidden=True)) == 0
    assert house.services.blocks.count() == 0


def test_it_is_made_by_one_write(tmp_path: Path) -> None:
    writes: list[int] = []
    with house_in(
        tmp_path, lambda table: CountingTable(table, lambda n, kind: writes.append(n) if kind == "before write" else None)
    ) as house:
        house.agent(memory_blocks=[{"label": f"b{n}", "value": ""} for n in range(20)], agent_type="memgpt_agent")
        assert len(writes) == 1


def test_more_blocks_than_a_transaction_holds_are_made_before_the_agent_that_shows_them(tmp_path: Path) -> None:
    seen: list[int] = []

    def look(_: int, kind: str) -> None:
        if kind == "after write":
            seen.append(len(house.stores.agents.rows()))

    with house_in(tmp_path, lambda table: CountingTable(table, look)) as house:
        agent = house.agent(memory_blocks=[{"label": f"b{n}", "value": "x"} for n in range(80)])
        assert len(house.services.agents.blocks(agent.id)) == 80
    assert seen == [0, 0, 0, 0, 1]


def test_large_blocks_lie_in_blobs_and_come_back(house: House) -> None:
    value = "x" * 300_000
    agent = house.agent(memory_blocks=[{"label": f"b{n}", "value": value} for n in range(20)])
    assert [block.value for block in house.services.agents.blocks(agent.id)] == [value] * 20


def test_more_bytes_than_a_transaction_holds_are_written_in_several(house: House) -> None:
    said = [{"role": "user", "content": "x" * 60_000} for _ in range(80)]
    agent = house.agent(initial_message_sequence=said)
    assert len(house.services.agents.retrieve(agent.id).message_ids or []) == 81


def test_a_block_that_is_deleted_meanwhile_is_missed(contested: House) -> None:
    block = contested.services.blocks.create(CreateBlock(label="notes", value=""))
    contested.table.by = lambda: contested.services.blocks.delete(block.id)
    with pytest.raises(NotFound, match=block.id):
        contested.agent(block_ids=[block.id])
    assert contested.services.agents.count(AgentFilter(hidden=True)) == 0
