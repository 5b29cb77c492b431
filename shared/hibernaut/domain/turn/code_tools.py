"""Which tools of an agent the code of a `run_code` call may call as functions: none whose call would be refused, held or counted.

Code calls a tool without a reply that anybody reads: no rule and no policy sees the call, and nobody can approve it.
"""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.domain.tools import tool_policy, tool_rules
from hibernaut.domain.turn.actor import Actor
from hibernaut.domain.turn.model_requests import is_held
from hibernaut.schemas.tools.tool import Tool, ToolType
from hibernaut.schemas.tools.tool_rule import MaxCountPerStepToolRule


def tools_for_code(actor: Actor, history: Sequence[str], last_return: str | None) -> list[Tool]:
    """The agent's custom Python tools that code may call. `history` and `last_return`: those of the turn that runs it."""
    allowed = tool_rules.allowed(actor.rules, history, actor.names, last_return)
    counted = {rule.tool_name for rule in actor.rules if isinstance(rule, MaxCountPerStepToolRule)}
    closed = counted.union(tool_rules.prefilled(actor.rules, history))
    return [
        tool
        for tool in actor.tools
        if tool.tool_type is ToolType.CUSTOM
        and tool.source_type != "typescript"
        and tool.name in allowed
        and tool.name not in closed
        and not is_held(actor, tool.name)
        and not _limited(actor, tool)
    ]


def _limited(actor: Actor, tool: Tool) -> bool:
    """Whether a tool policy may deny, ask or count a call of the tool."""
    call = tool_policy.judged_call(tool.name or "", tool, {}, actor.tags)
    return tool_policy.hidden_from_code(actor.policies, call)
