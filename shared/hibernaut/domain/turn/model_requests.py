"""Builds the model request of a step and parses the calls of the reply (RT 2.3, 2.4, 3.3)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hibernaut.domain.models.tokens import count_again
from hibernaut.domain.tools import tool_rules
from hibernaut.domain.tools.tool_arguments import check_prefill
from hibernaut.domain.tools.tool_returns import repair_arguments
from hibernaut.domain.turn.actor import Actor, Call
from hibernaut.domain.turn.policy_decisions import judged
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.json_schema import sound_parameters
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.models.model_call import ModelReply, ModelRequest, ModelToolCall, ToolChoice, ToolSpec
from hibernaut.schemas.tools.tool import Tool

HEARTBEAT: JsonObject = {
    "type": "boolean",
    "description": "true: you get another step right after this call, to go on working. false: your turn ends with this call.",
}
THINKING: JsonObject = {
    "type": "string",
    "description": "What you think before you make this call, in a few words. The user does not see it.",
}

TOOL_TOKENS = 8
"""The estimated tokens of a provider's formatting for each tool."""


def plan(actor: Actor, history: Sequence[str], last_return: str | None) -> tuple[tuple[str, ...], ToolChoice, bool]:
    """The offered tools, the tool choice, and whether parallel calls are allowed."""
    offered = tool_rules.allowed(actor.rules, history, actor.names, last_return)
    forced = tool_rules.must_call(actor.rules, history)
    is_parallel = actor.config.parallel_tool_calls is not False  # null counts as allowed, as the settings show it
    parallel = is_parallel and all(rule.type == "requires_approval" for rule in actor.rules)
    return tuple(offered), _choice(actor, offered, forced), parallel and not actor.spec.heartbeats


def _choice(actor: Actor, offered: Sequence[str], forced: bool) -> ToolChoice:
    if not offered:
        return ToolChoice("none")
    if forced and len(offered) == 1:
        return ToolChoice("named", offered[0])
    return ToolChoice("required" if forced or actor.spec.tool_choice_required else "auto")


def model_request(
    actor: Actor,
    messages: Sequence[Message],
    system: str,
    offered: Sequence[str],
    *,
    choice: ToolChoice,
    parallel: bool,
    timeout: float,
) -> ModelRequest:
    """The request of one step. `messages` is the window with its system message first; `system` is the text that replaces that
    message.

    It names all tools of the agent, because a provider's cache of the prefix begins with them; `offered` are those that may be
    called. `timeout` is in seconds.
    """
    names = set(offered)
    return ModelRequest(
        config=actor.config,
        system=system,
        messages=[row for row in messages if row.role != "system" or row.otid is not None],
        tools=[specification(actor, tool) for tool in actor.tools],
        allowed=None if names.issuperset(actor.names) else tuple(offered),
        cache_key=actor.conversation_id or actor.agent_id,
        choice=choice,
        parallel_tool_calls=parallel,
        timeout=timeout,
        user=actor.agent_id,
    )


def specification(actor: Actor, tool: Tool) -> ToolSpec:
    """A tool's definition for this agent's model: legacy agents get `request_heartbeat`, and `thinking` if their model
    needs it.
    """
    _, spec = actor.specifications.get(id(tool)) or (tool, None)
    if spec is None:
        spec = _specified(actor, tool)
        actor.specifications[id(tool)] = tool, spec  # The tool lives as long as its entry, and so does its identity.
    return spec


def _specified(actor: Actor, tool: Tool) -> ToolSpec:
    schema = tool.json_schema or {}
    parameters = dict(sound_parameters(schema.get("parameters")))
    properties, required = dict(parameters.get("properties", {})), list(parameters.get("required", []))
    properties.pop("request_heartbeat", None)
    required = [name for name in required if name != "request_heartbeat"]
    if actor.spec.heartbeats and actor.config.put_inner_thoughts_in_kwargs:
        properties, required = {"thinking": THINKING, **properties}, ["thinking", *required]
    if actor.spec.heartbeats and not tool_rules.ends_run(actor.rules, tool.name or ""):
        properties, required = {**properties, "request_heartbeat": HEARTBEAT}, [*required, "request_heartbeat"]
    parameters |= {"type": "object", "properties": properties, "required": required}
    return ToolSpec(
        tool.name or "", tool.description or str(schema.get("description") or ""), parameters, strict=actor.config.strict
    )


def tools_size(actor: Actor) -> int:
    """The size of the tool definitions, in tokens."""
    return sum(size_of(specification(actor, tool)) for tool in actor.tools)


def size_of(tool: ToolSpec) -> int:
    """The size of one tool's definition, in tokens."""
    return TOOL_TOKENS + count_again(json.dumps([tool.name, tool.description, tool.parameters], ensure_ascii=False))


def calls_of(actor: Actor, reply: ModelReply, history: Sequence[str], last_return: str | None) -> tuple[Call, ...]:
    """The parsed calls of a reply. Without parallel calls only the first one counts (API 5.2)."""
    offered, _, parallel = plan(actor, history, last_return)
    prefilled = tool_rules.prefilled(actor.rules, history)
    raw_calls = reply.tool_calls if parallel else reply.tool_calls[:1]
    ids: set[str] = set()
    calls = []
    for index, raw in enumerate(raw_calls):
        call_id = raw.id if raw.id and raw.id not in ids else f"{raw.id or 'call'}_{index}"
        ids.add(call_id)
        calls.append(_read(actor, raw, call_id, offered, history, prefilled.get(raw.name)))
    return tuple(calls)


def _read(
    actor: Actor, raw: ModelToolCall, call_id: str, offered: Sequence[str], history: Sequence[str], prefill: JsonObject | None
) -> Call:
    parsed = repair_arguments(raw.arguments)
    tool = actor.tool(raw.name)
    heartbeat = bool(parsed.request_heartbeat)
    if raw.name not in offered or tool is None:
        refusal = tool_rules.violation(raw.name, list(offered), actor.rules, history)
        return Call(call_id, raw.name, parsed.values, heartbeat, refusal)
    if parsed.broken:
        refusal = f"The arguments of {raw.name} are not a JSON object, so it was not called. Call it again with valid JSON."
        return Call(call_id, raw.name, {}, heartbeat, refusal)
    values = parsed.values
    if prefill:
        try:
            values = {**values, **check_prefill(prefill, tool.json_schema)}
        except InvalidArgument as error:
            return Call(
                call_id, raw.name, values, heartbeat, f"A rule of this agent fills in arguments that do not fit: {error.detail}"
            )
    return judged(actor, Call(call_id, raw.name, values, heartbeat, None, is_held(actor, raw.name)))


def is_held(actor: Actor, name: str) -> bool:
    """Whether calls of this tool wait: for a person's approval, or for the client that runs the tool."""
    return name in actor.client_tools or tool_rules.needs_approval(actor.rules, name)
