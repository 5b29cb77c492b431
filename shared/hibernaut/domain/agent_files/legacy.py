"""Agent files of the older form, with one agent at the top level, in the form of today (RT 12.4).

Blocks and tools are nested in the agent, tags and variables are rows, and the window names its messages by their places.
"""

from __future__ import annotations

from collections.abc import Iterable

from hibernaut.schemas.base import Json, JsonObject

_SIGNS = ("core_memory", "in_context_message_indices", "llm_config", "system", "messages")
_RENAMED_AGENT_TYPES = {"offline_memory_agent": "sleeptime_agent", "chat_only_agent": "letta_v1_agent"}
"""Agent types that were given up before the form of today."""
_TOOL_RULES = {
    "InitToolRule": "run_first",
    "TerminalToolRule": "exit_loop",
    "ContinueToolRule": "continue_loop",
    "ChildToolRule": "constrain_child_tools",
    "ToolRule": "constrain_child_tools",
    "ParentToolRule": "parent_last_tool",
    "ConditionalToolRule": "conditional",
    "MaxCountPerStepToolRule": "max_count_per_step",
    "RequiredBeforeExitToolRule": "required_before_exit",
    "RequiresApprovalToolRule": "requires_approval",
}
"""The names of rules in the first files, and those of today."""


def is_legacy(value: JsonObject) -> bool:
    """Whether a document has the older form: no list of agents, but the fields of one."""
    return "agents" not in value and sum(name in value for name in _SIGNS) >= 2


def of_legacy(value: JsonObject) -> JsonObject:
    """The same agent in the form of today. Values of a wrong type are taken over and refused or repaired with all others."""
    blocks = [_numbered(block, "block", at) for at, block in enumerate(_objects(value.get("core_memory")))]
    tools = [_numbered(tool, "tool", at) for at, tool in enumerate(_objects(value.get("tools")))]
    messages = [_numbered(message, "message", at) for at, message in enumerate(_objects(value.get("messages")))]
    agent_type = value.get("agent_type")
    agent = {
        **value,
        "id": "agent-0",
        "agent_type": _RENAMED_AGENT_TYPES.get(agent_type, agent_type) if isinstance(agent_type, str) else agent_type,
        "metadata": value.get("metadata_", value.get("metadata")),
        "block_ids": [block["id"] for block in blocks],
        "tool_ids": [tool["id"] for tool in tools],
        "tools": [],
        "tags": [tag["tag"] if isinstance(tag, dict) and "tag" in tag else tag for tag in _list(value.get("tags"))],
        "tool_rules": [_rule(rule) for rule in _list(value.get("tool_rules"))],
        "tool_exec_environment_variables": variables(value.get("tool_exec_environment_variables")),
        "messages": messages,
        "in_context_message_ids": _in_context(value.get("in_context_message_indices"), messages),
        "files_agents": [],
        "group_ids": [],
    }
    version = value.get("version")
    metadata = {"version": version} if isinstance(version, str) else {}
    groups = [_numbered(group, "group", 0) for group in _objects([value.get("multi_agent_group")])]
    return {"agents": [agent], "blocks": blocks, "tools": tools, "groups": groups, "metadata": metadata}


def variables(value: Json) -> JsonObject:
    """The environment variables of an agent by their names: given as an object, or as rows with `key` and `value`."""
    if isinstance(value, dict):
        return value
    rows = [row for row in _objects(value) if isinstance(row.get("key"), str)]
    return {row["key"]: row.get("value") for row in rows}


def _in_context(value: Json, messages: list[JsonObject]) -> list[str]:
    places = [at for at in _list(value) if isinstance(at, int) and not isinstance(at, bool)]
    return [messages[at]["id"] for at in places if 0 <= at < len(messages)]


def _rule(rule: Json) -> Json:
    kind = rule.get("type") if isinstance(rule, dict) else None
    return {**rule, "type": _TOOL_RULES[kind]} if isinstance(kind, str) and kind in _TOOL_RULES else rule


def _numbered(entry: JsonObject, kind: str, number: int) -> JsonObject:
    return {**entry, "id": f"{kind}-{number}"}


def _objects(value: Json) -> Iterable[JsonObject]:
    return [one for one in _list(value) if isinstance(one, dict)]


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
