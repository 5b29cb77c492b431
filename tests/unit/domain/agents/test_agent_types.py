"""What each agent type is, and what its agents start with."""

from __future__ import annotations

import pytest

from hibernaut.domain.agents.agent_types import (
    base_tools,
    default_description,
    default_rules,
    default_system,
    file_limits,
    spec_of,
)
from hibernaut.domain.tools.builtin.builtin_tools import builtin_tools
from hibernaut.schemas.agents.agent import AgentType
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.tools.tool import ToolType

NATURAL = {AgentType.LETTA_V1, AgentType.SLEEPTIME}


def types_with(**facts: object) -> set[AgentType]:
    return {one for one in AgentType if all(getattr(spec_of(one), name) == value for name, value in facts.items())}


def test_two_types_end_a_turn_by_text_and_all_others_by_heartbeats() -> None:
    assert types_with(text_ends_turn=True, heartbeats=False) == NATURAL
    assert types_with(text_ends_turn=False, heartbeats=True) == set(AgentType) - NATURAL


def test_the_facts_that_set_single_types_apart() -> None:
    assert types_with(tool_choice_required=False) == {AgentType.LETTA_V1}
    assert types_with(clears_buffer=True) == {AgentType.WORKFLOW}
    assert types_with(shows_memory=False) == {AgentType.REACT, AgentType.WORKFLOW}
    assert types_with(numbers_lines=True) == {*NATURAL, AgentType.MEMGPT_V2}
    assert types_with(boot_sequence=False) == {*NATURAL, AgentType.VOICE_SLEEPTIME}
    assert types_with(prompt=None) == {AgentType.SPLIT_THREAD}


def test_every_type_but_one_has_a_prompt_of_its_own_kind() -> None:
    assert default_system(AgentType.MEMGPT) == default_system(AgentType.MEMGPT_V2)
    assert len({default_system(one) for one in AgentType if one is not AgentType.SPLIT_THREAD}) == 7
    with pytest.raises(InvalidArgument, match="split_thread_agent has no default system prompt"):
        default_system(AgentType.SPLIT_THREAD)


@pytest.mark.parametrize("one", [one for one in AgentType if one is not AgentType.SPLIT_THREAD])
def test_a_prompt_speaks_of_heartbeats_only_where_there_are_some(one: AgentType) -> None:
    spec = spec_of(one)
    assert ("request_heartbeat" in (spec.prompt or "")) == (spec.heartbeats and one is not AgentType.VOICE_SLEEPTIME)


FULL = ["send_message", "conversation_search", "core_memory_append", "core_memory_replace", "memory", "memory_apply_patch"]
SLEEPING = ["send_message", "conversation_search", "archival_memory_search"]
KEEPER = ["memory_replace", "memory_insert", "memory_rethink", "memory_finish_edits"]


@pytest.mark.parametrize(
    ("one", "tools", "with_sleeptime"),
    [
        (AgentType.LETTA_V1, ["conversation_search", "memory_replace", "memory_insert"], SLEEPING),
        (AgentType.MEMGPT_V2, ["send_message", "conversation_search", "memory_replace", "memory_insert"], SLEEPING),
        (AgentType.MEMGPT, FULL, SLEEPING),
        (AgentType.SPLIT_THREAD, FULL, SLEEPING),
        (AgentType.REACT, [], SLEEPING),
        (AgentType.WORKFLOW, [], SLEEPING),
        (AgentType.SLEEPTIME, KEEPER, KEEPER),
        (AgentType.VOICE_SLEEPTIME, [], []),
    ],
)
def test_base_tools(one: AgentType, tools: list[str], with_sleeptime: list[str]) -> None:
    assert base_tools(one, enable_sleeptime=False) == tools
    assert base_tools(one, enable_sleeptime=True) == with_sleeptime


def test_a_voice_agent_needs_its_sleeptime_partner() -> None:
    assert base_tools(AgentType.VOICE_CONVO, enable_sleeptime=True) == ["send_message"]
    with pytest.raises(InvalidArgument, match="voice_convo_agent needs `enable_sleeptime`"):
        base_tools(AgentType.VOICE_CONVO, enable_sleeptime=False)


def test_all_base_tools_are_built_in() -> None:
    for one in AgentType:
        assert set(base_tools(one, enable_sleeptime=True)) <= builtin_tools().keys()


def rules(one: AgentType, model: str = "gpt-4o", include: bool | None = None, given: bool = False) -> list[tuple[str, str]]:
    attached = ["conversation_search", "send_message", "my_tool", "memory_finish_edits"]
    return [(rule.tool_name, rule.type) for rule in default_rules(one, attached, model, include, given)]


ALL = [("conversation_search", "continue_loop"), ("send_message", "exit_loop"), ("memory_finish_edits", "exit_loop")]


def test_talking_ends_the_run_and_other_built_in_tools_continue_it() -> None:
    assert rules(AgentType.MEMGPT) == ALL


def test_every_built_in_tool_that_agents_of_the_loop_use_has_a_rule() -> None:
    kinds = {ToolType.LETTA_CORE, ToolType.LETTA_MEMORY_CORE, ToolType.LETTA_SLEEPTIME_CORE, ToolType.LETTA_FILES_CORE}
    attached = [name for name, tool in builtin_tools().items() if tool.tool_type in kinds]
    assert {"send_message", "memory_insert", "memory_finish_edits", "grep_files"} <= set(attached)
    assert [rule.tool_name for rule in default_rules(AgentType.MEMGPT, attached, "gpt-4o", None, False)] == attached


def test_the_request_decides_whether_there_are_rules() -> None:
    assert rules(AgentType.LETTA_V1, include=True) == ALL
    assert rules(AgentType.MEMGPT, include=False) == []


def test_a_v1_agent_gets_rules_only_with_those_of_its_maker() -> None:
    assert rules(AgentType.LETTA_V1) == []
    assert rules(AgentType.LETTA_V1, given=True) == ALL


def test_a_strong_model_needs_no_rules_except_to_keep_memory() -> None:
    for model in ("claude-4-sonnet-20250514", "claude-3-5-sonnet-latest", "gpt-5.1", "gemini-2.5-pro"):
        assert rules(AgentType.MEMGPT, model) == []
        assert rules(AgentType.SLEEPTIME, model) == ALL
    assert rules(AgentType.MEMGPT, "gpt-5-mini") == ALL


@pytest.mark.parametrize(
    ("window", "limits"),
    [
        (None, (5, 50_000)),
        (8_000, (3, 5_000)),
        (8_001, (5, 15_000)),
        (32_000, (5, 15_000)),
        (32_001, (10, 25_000)),
        (128_000, (10, 25_000)),
        (128_001, (10, 40_000)),
        (200_000, (10, 40_000)),
        (200_001, (15, 40_000)),
    ],
)
def test_file_limits_follow_the_context_window(window: int | None, limits: tuple[int, int]) -> None:
    assert file_limits(window) == limits


def test_two_labels_have_a_description_of_their_own() -> None:
    assert len({default_description("human"), default_description("persona"), default_description("plans")}) == 3
    assert default_description("plans") is None
