"""The agent types as data for the turn machine, and the initial tools, rules and limits of each type (RT 1).

Agents of type `letta_v1_agent` and `sleeptime_agent` end a turn with plain text. All other types must call a tool in every step
and continue by `request_heartbeat`. Must not know: any single agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from hibernaut.domain.agents import prompts
from hibernaut.schemas.agents.agent import AgentType
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.tools.tool_rule import ContinueToolRule, TerminalToolRule, ToolRule


@immutable
class AgentTypeSpec:
    """The facts about one agent type for the turn machine and the system prompt.

    `heartbeats`: tools have the argument `request_heartbeat`, and a run continues only by it or by a rule. `text_ends_turn`: a
    reply without a call is the answer. `clears_buffer`: each run sees only the system message and its own input. `shows_memory`:
    the system prompt contains the blocks; `numbers_lines`: with line numbers, if the model's endpoint type is anthropic.
    `tool_choice_required`: the model must call some tool. `boot_sequence`: a new agent starts with opening messages. `prompt`:
    the default system prompt, or None.
    """

    heartbeats: bool
    text_ends_turn: bool
    clears_buffer: bool
    shows_memory: bool
    numbers_lines: bool
    tool_choice_required: bool
    boot_sequence: bool
    prompt: str | None


_NATURAL = AgentTypeSpec(
    heartbeats=False,
    text_ends_turn=True,
    clears_buffer=False,
    shows_memory=True,
    numbers_lines=True,
    tool_choice_required=False,
    boot_sequence=False,
    prompt=prompts.LETTA_V1,
)
_HEARTBEATS = AgentTypeSpec(
    heartbeats=True,
    text_ends_turn=False,
    clears_buffer=False,
    shows_memory=True,
    numbers_lines=False,
    tool_choice_required=True,
    boot_sequence=True,
    prompt=prompts.MEMGPT,
)
_SPECS = {
    AgentType.LETTA_V1: _NATURAL,
    AgentType.SLEEPTIME: replace(_NATURAL, tool_choice_required=True, prompt=prompts.SLEEPTIME),
    AgentType.MEMGPT: _HEARTBEATS,
    AgentType.MEMGPT_V2: replace(_HEARTBEATS, numbers_lines=True),
    AgentType.REACT: replace(_HEARTBEATS, shows_memory=False, prompt=prompts.REACT),
    AgentType.WORKFLOW: replace(_HEARTBEATS, shows_memory=False, clears_buffer=True, prompt=prompts.WORKFLOW),
    AgentType.SPLIT_THREAD: replace(_HEARTBEATS, prompt=None),
    AgentType.VOICE_CONVO: replace(_HEARTBEATS, prompt=prompts.VOICE_CONVO),
    AgentType.VOICE_SLEEPTIME: replace(_HEARTBEATS, boot_sequence=False, prompt=prompts.VOICE_SLEEPTIME),
}


def spec_of(agent_type: AgentType) -> AgentTypeSpec:
    """The facts about an agent type."""
    return _SPECS[agent_type]


def default_system(agent_type: AgentType) -> str:
    """The system prompt of an agent that is created without one. Raises: InvalidArgument for the type without a default."""
    prompt = spec_of(agent_type).prompt
    if prompt is None:
        raise InvalidArgument(f"An agent of type {agent_type} has no default system prompt: give one as `system`.")
    return prompt


def base_tools(agent_type: AgentType, enable_sleeptime: bool) -> list[str]:
    """The names of a new agent's tools, in the order of attachment (API 1.1).

    The voice types have only `send_message`: their other tools in Letta need a voice service, which this server does not have.
    Raises: InvalidArgument if the type requires `enable_sleeptime`.
    """
    if agent_type is AgentType.VOICE_CONVO and not enable_sleeptime:
        raise InvalidArgument(f"An agent of type {agent_type} needs `enable_sleeptime`.")
    match agent_type:
        case AgentType.VOICE_SLEEPTIME:
            return []
        case AgentType.VOICE_CONVO:
            return ["send_message"]
        case AgentType.SLEEPTIME:
            return ["memory_replace", "memory_insert", "memory_rethink", "memory_finish_edits"]
        case _ if enable_sleeptime:  # the sleep-time partner edits this agent's memory
            return ["send_message", "conversation_search", "archival_memory_search"]
        case AgentType.MEMGPT_V2:
            return ["send_message", "conversation_search", "memory_replace", "memory_insert"]
        case AgentType.LETTA_V1:
            return ["conversation_search", "memory_replace", "memory_insert"]
        case AgentType.REACT | AgentType.WORKFLOW:
            return []
        case AgentType.MEMGPT | AgentType.SPLIT_THREAD:
            return [
                "send_message",
                "conversation_search",
                "core_memory_append",
                "core_memory_replace",
                "memory",
                "memory_apply_patch",
            ]
        case _:
            assert_never(agent_type)


_ENDING = frozenset({"send_message", "send_message_to_agent_async", "memory_finish_edits"})
_CONTINUING = frozenset(
    {
        "conversation_search",
        "archival_memory_insert",
        "archival_memory_search",
        "core_memory_append",
        "core_memory_replace",
        "memory",
        "memory_apply_patch",
        "memory_replace",
        "memory_insert",
        "memory_rethink",
        "open_files",
        "grep_files",
        "semantic_search_files",
    }
)
# The small variants (gpt-5-mini) do need them.
_NEEDS_NO_RULES = ("claude-4-sonnet", "claude-3-5-sonnet", "gpt-5", "gemini-2.5-pro")


def default_rules(
    agent_type: AgentType, attached: Sequence[str], model: str, include: bool | None, has_own_rules: bool
) -> list[ToolRule]:
    """The default rules for the attached tools (API 1.2).

    `model` is the model's name, `include` the request's `include_base_tool_rules`; `has_own_rules`: whether the request has rules
    of its own.
    """
    if include is None:
        include = _wants_rules(agent_type, model, has_own_rules)
    if not include:
        return []
    return [rule for name in attached if (rule := _rule(name)) is not None]


def _rule(tool: str) -> ToolRule | None:
    if tool in _ENDING:
        return TerminalToolRule(tool_name=tool)
    return ContinueToolRule(tool_name=tool) if tool in _CONTINUING else None


def _wants_rules(agent_type: AgentType, model: str, has_own_rules: bool) -> bool:
    if agent_type is AgentType.LETTA_V1 and not has_own_rules:
        return False
    strong = "-mini" not in model and any(name in model for name in _NEEDS_NO_RULES)
    return agent_type is AgentType.SLEEPTIME or not strong


_FILE_LIMITS = ((8_000, (3, 5_000)), (32_000, (5, 15_000)), (128_000, (10, 25_000)), (200_000, (10, 40_000)))


def file_limits(context_window: int | None) -> tuple[int, int]:
    """(files open at once, characters shown of each file) for a context window in tokens (API 1.5)."""
    if context_window is None:
        return 5, 50_000
    return next((limits for window, limits in _FILE_LIMITS if context_window <= window), (15, 40_000))


def default_description(label: str) -> str | None:
    """The default description of a block with this label; None for an unknown label."""
    match label:
        case "persona":
            return "Who you are: your name, character, manner of speaking and principles. It shapes how you think and answer."
        case "human":
            return "What you know about the person you talk with: name, circumstances, preferences and whatever helps you to help them."
        case _:
            return None
