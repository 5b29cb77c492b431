"""What changes of an agent, and what stays."""

from __future__ import annotations

import pytest

from hibernaut.schemas.agents.agent import StoredAgent, UpdateAgent
from hibernaut.schemas.errors import Conflict, InvalidArgument, NotFound
from hibernaut.schemas.memory.block import CreateBlock
from hibernaut.schemas.tools.tool import ToolCreate
from tests.support.house import House

SOURCE = 'def roll() -> int:\n    """Roll a die."""\n    return 4\n'


def update(house: House, agent: StoredAgent, **fields: object) -> StoredAgent:
    after = house.services.agents.updates.update(agent.id, UpdateAgent.model_validate(fields))
    assert house.stored(agent.id) == after.model_copy(
        update={"last_run_completion": None, "last_run_duration_ms": None, "last_stop_reason": None}
    )
    return after


def test_what_is_null_stays_and_lists_replace(house: House) -> None:
    agent = house.agent(description="old", tags=["a", "b"], metadata={"x": 1})
    after = update(house, agent, description=None, tags=["c"], hidden=True, name="Bob", metadata={"y": 2})
    assert (after.description, after.tags, after.hidden, after.name, after.metadata) == ("old", ["c"], True, "Bob", {"y": 2})
    assert after.updated_at > agent.updated_at
    assert after.version == agent.version + 1


def test_blocks_and_tools_are_replaced_with_their_links(house: House) -> None:
    agent = house.agent(memory_blocks=[{"label": "human", "value": ""}])
    block = house.services.blocks.create(CreateBlock(label="human", value="new"))
    tool = house.services.tools.save(ToolCreate(source_code=SOURCE, default_requires_approval=True))
    after = update(house, agent, block_ids=[block.id], tool_ids=[tool.id])
    assert (after.block_ids, after.tool_ids) == ([block.id], [tool.id])
    assert [rule.type for rule in after.tool_rules or []] == ["requires_approval"]
    assert house.stores.blocks.agents_of(block.id) == [agent.id]
    assert house.stores.blocks.agents_of(agent.block_ids[0]) == []
    assert house.stores.tools.agents_of(tool.id) == [agent.id]


def test_an_empty_list_of_rules_clears_them_also_beside_tools(house: House) -> None:
    tool = house.services.tools.save(ToolCreate(source_code=SOURCE, default_requires_approval=True))
    agent = house.agent(tool_rules=[{"type": "exit_loop", "tool_name": "memory_insert"}], tool_ids=[tool.id])
    assert len(agent.tool_rules or ()) > 1
    assert update(house, agent, tool_rules=[], tool_ids=[tool.id]).tool_rules == []


def test_a_model_setting_is_folded_and_a_new_model_brings_its_own_window(house: House) -> None:
    agent = house.agent(context_window_limit=9_000)
    after = update(house, agent, max_tokens=77, parallel_tool_calls=False)
    assert (after.llm_config.context_window, after.llm_config.max_tokens) == (9_000, 77)
    state = house.services.agents.states.of_one(after)
    assert state.model_settings is not None
    assert (state.model_settings.max_output_tokens, state.model_settings.parallel_tool_calls) == (77, False)
    moved = update(house, after, model="hibernaut/demo")
    assert moved.llm_config.context_window == 128_000
    assert moved.llm_config.max_tokens == 77


def test_compaction_settings_are_merged(house: House) -> None:
    agent = house.agent(compaction_settings={"clip_chars": 9, "prompt": "short"})
    assert agent.compaction_settings is not None
    assert agent.compaction_settings.model == "hibernaut/demo"
    after = update(house, agent, compaction_settings={"sliding_window_percentage": 0.5})
    assert after.compaction_settings is not None
    assert (after.compaction_settings.clip_chars, after.compaction_settings.prompt) == (9, "short")
    assert after.compaction_settings.sliding_window_percentage == 0.5
    moved = update(house, agent, compaction_settings={"mode": "all"})
    assert moved.compaction_settings is not None
    assert moved.compaction_settings.prompt is None


def test_secrets_are_replaced_and_a_kept_key_keeps_its_id(house: House) -> None:
    agent = house.agent(secrets={"A": "1", "B": "2"})
    after = update(house, agent, secrets={"B": "3", "C": "4"})
    assert house.stores.secrets.values(after.id, after.secrets) == {"B": "3", "C": "4"}
    assert after.secrets[0].id == agent.secrets[1].id


def test_the_last_run_goes_to_the_list_row_and_is_shown(house: House) -> None:
    agent = house.agent()
    after = update(house, agent, last_run_duration_ms=5, last_stop_reason="end_turn", last_run_completion="2026-01-01T00:00:00Z")
    state = house.services.agents.states.of_one(after)
    assert (state.last_run_duration_ms, state.last_stop_reason) == (5, "end_turn")
    assert state.last_run_completion is not None
    update(house, after, description="x")
    assert house.services.agents.retrieve(agent.id).last_run_duration_ms == 5


def test_what_cannot_be_is_refused_and_changes_nothing(house: House) -> None:
    agent = house.agent()
    one, two = (house.services.blocks.create(CreateBlock(label="same", value="")) for _ in range(2))
    rules = [{"type": "run_first", "tool_name": "a"}, {"type": "run_first", "tool_name": "b"}]
    for refused, fields in (
        (InvalidArgument, {"name": "a/b"}),
        (NotFound, {"tool_ids": ["tool-00000000-0000-4000-8000-000000000000"]}),
        (NotFound, {"model": "hibernaut/unknown"}),
        (Conflict, {"block_ids": [one.id, two.id]}),
        (InvalidArgument, {"tool_rules": rules}),
        (NotFound, {"message_ids": ["message-00000000-0000-4000-8000-000000000000"]}),
        (InvalidArgument, {"message_ids": []}),
    ):
        with pytest.raises(refused):
            update(house, agent, **fields)
    assert house.stored(agent.id) == agent
    with pytest.raises(NotFound, match="Agent with ID agent-x not found"):
        house.services.agents.updates.update("agent-x", UpdateAgent(name="x"))


def test_attaching_is_idempotent_and_a_second_block_of_one_label_conflicts(house: House) -> None:
    agent, updates = house.agent(), house.services.agents.updates
    block, rival = (house.services.blocks.create(CreateBlock(label="notes", value="")) for _ in range(2))
    first = updates.attach_block(agent.id, block.id)
    again = updates.attach_block(agent.id, block.id)
    assert again == first
    with pytest.raises(Conflict, match="notes"):
        updates.attach_block(agent.id, rival.id)
    assert updates.detach_block(agent.id, block.id).block_ids == []
    assert house.stores.blocks.agents_of(block.id) == []
    with pytest.raises(NotFound):
        updates.detach_block(agent.id, block.id)


def test_detaching_a_tool_leaves_its_rules_and_the_approval_rule_can_be_set_and_taken(house: House) -> None:
    agent, updates = house.agent(agent_type="memgpt_v2_agent"), house.services.agents.updates
    tool_id = agent.tool_ids[0]
    after = updates.detach_tool(agent.id, tool_id)
    assert tool_id not in after.tool_ids
    assert after.tool_rules == agent.tool_rules
    assert updates.detach_tool(agent.id, tool_id) == after
    ruled = updates.set_approval(agent.id, "memory_insert", required=True)
    assert updates.set_approval(agent.id, "memory_insert", required=True) == ruled
    assert [rule.tool_name for rule in ruled.tool_rules or [] if rule.type == "requires_approval"] == ["memory_insert"]
    assert updates.set_approval(agent.id, "memory_insert", required=False).tool_rules == agent.tool_rules


def test_an_attachment_that_was_overtaken_by_another_keeps_both(contested: House) -> None:
    agent, updates = contested.agent(), contested.services.agents.updates
    first, second = (contested.services.blocks.create(CreateBlock(label=f"b{n}", value="")) for n in range(2))
    contested.table.by = lambda: updates.attach_block(agent.id, second.id)
    updates.attach_block(agent.id, first.id)
    assert contested.stored(agent.id).block_ids == [second.id, first.id]


def test_a_block_that_is_deleted_meanwhile_is_not_attached(contested: House) -> None:
    agent, block = contested.agent(), contested.services.blocks.create(CreateBlock(label="notes", value=""))
    contested.table.by = lambda: contested.services.blocks.delete(block.id)
    with pytest.raises(NotFound):
        contested.services.agents.updates.attach_block(agent.id, block.id)
    assert contested.stored(agent.id).block_ids == []
