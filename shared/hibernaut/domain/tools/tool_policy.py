"""Which tool policy decides a call: the first enabled one that matches it. Pure, and linear in the sizes of the call and of the
patterns.

Patterns have one special character, `*`, so that a match is a search for texts one after the other: no pattern and no argument,
which a model writes, makes it slow.

A condition on arguments looks at all values at its path. A policy that denies or asks matches if **one** value fits, one that
allows only if **all** of them do and there is one: a further value in a list must neither hide a call from a denial nor slip
through with an allowed one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from hibernaut.domain.tools.mcp.mcp_tools import facts_of
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.tools.tool import Tool, ToolType
from hibernaut.schemas.tools.tool_policy import ArgumentCondition, CallDecision, ToolPolicy

MATCHES = "The call matches."


@immutable
class JudgedCall:
    """A call as policies see it. `servers`: the names and ids of the tool's MCP server; empty: it has none."""

    tool: str
    args: JsonObject
    servers: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


def judged_call(name: str, tool: Tool | None, args: JsonObject, tags: Sequence[str]) -> JudgedCall:
    """The call of a tool by an agent with these tags. `tool` None: nobody has such a tool."""
    return JudgedCall(name, args, servers_of(tool), tuple(tags))


def servers_of(tool: Tool | None) -> tuple[str, ...]:
    """The name and the id of a tool's MCP server; empty if it has none."""
    if tool is None or tool.tool_type is not ToolType.EXTERNAL_MCP:
        return ()
    facts = facts_of(tool)
    return tuple(each for each in (facts.server_name, facts.server_id) if each)


def deciding(policies: Sequence[ToolPolicy], call: JudgedCall) -> ToolPolicy | None:
    """The policy that decides the call; None: none matches it."""
    return next((policy for policy in policies if mismatch(policy, call) is None), None)


def decision(policies: Sequence[ToolPolicy], call: JudgedCall, call_id: str) -> CallDecision | None:
    """What the policies decide about a call; None: none matches it."""
    policy = deciding(policies, call)
    return decided_by(policy, call_id) if policy is not None else None


def decided_by(policy: ToolPolicy, call_id: str) -> CallDecision:
    """The decision of a policy."""
    return CallDecision(
        call_id=call_id,
        policy_id=policy.id,
        name=policy.name,
        action=policy.action,
        message=policy.message,
        waives_approval=policy.waives_approval,
        rate=policy.rate,
    )


def mismatch(policy: ToolPolicy, call: JudgedCall) -> str | None:
    """The reason why the policy does not decide the call; None if it does."""
    name_mismatch = _unnamed(policy, call)
    if name_mismatch is not None:
        return name_mismatch
    match_all = policy.action == "allow"
    failing = next((condition for condition in policy.arguments if not _holds(condition, call.args, match_all=match_all)), None)
    return f"The arguments at `{failing.path}` do not fit." if failing is not None else None


def hidden_from_code(policies: Sequence[ToolPolicy], call: JudgedCall) -> bool:
    """Whether code that may call the tool with any arguments must not have it: a policy may deny, ask or count some of its
    calls.
    """
    for policy in policies:
        if _unnamed(policy, call) is not None:
            continue
        if policy.action != "allow" or policy.rate is not None:
            return True
        if not policy.arguments:
            return False
    return False


def denial(decided: CallDecision) -> str:
    """What the model reads in place of a denied call's result."""
    return (
        decided.message
        or f"The call was not made: the policy '{decided.name}' of this server denies it. Do not try it again in another form."
    )


def fits(pattern: str, text: str) -> bool:
    """Whether a text matches a pattern, in which `*` stands for any characters."""
    first, *further = pattern.split("*")
    if not further:
        return text == first
    *middle, last = further
    end = len(text) - len(last)
    if not text.startswith(first) or not text.endswith(last) or end < len(first):
        return False
    place = len(first)
    for part in middle:
        found = text.find(part, place, end)
        if found < 0:
            return False
        place = found + len(part)
    return True


def _unnamed(policy: ToolPolicy, call: JudgedCall) -> str | None:
    """Why the policy does not concern the tool and the agent; None: it does."""
    if not policy.enabled:
        return "The policy is disabled."
    if not _one_fits(policy.tools, [call.tool]):
        return "The tool's name matches none of `tools`."
    if policy.servers is not None and not _one_fits(policy.servers, call.servers):
        return "The tool's server matches none of `servers`." if call.servers else "The tool has no MCP server."
    if policy.agent_tags is not None and not _one_fits(policy.agent_tags, call.tags):
        return "None of the agent's tags matches `agent_tags`."
    return None


def _one_fits(patterns: Sequence[str], texts: Sequence[str]) -> bool:
    return any(fits(pattern, text) for pattern in patterns for text in texts)


def _holds(condition: ArgumentCondition, args: JsonObject, *, match_all: bool) -> bool:
    """Whether the values at the condition's path meet it: all of them (`match_all`), or one. Where there is no value, a negated
    condition is met unless all must meet it.
    """
    steps = condition.path.split(".") if condition.path else []
    patterns = [pattern.casefold() for pattern in condition.matches] if condition.ignore_case else condition.matches
    matches = [_one_fits(patterns, [text]) is not condition.negate for text in _texts(args, steps, folded=condition.ignore_case)]
    if not matches:
        return condition.negate and not match_all
    return all(matches) if match_all else any(matches)


def _texts(args: JsonObject, steps: Sequence[str], *, folded: bool) -> Iterator[str]:
    """The values at a path as texts. The walk is iterative: arguments may be nested deeply."""
    pending: list[tuple[Json, int]] = [(args, 0)]
    while pending:
        value, depth = pending.pop()
        if isinstance(value, list):
            pending.extend((each, depth) for each in reversed(value))
        elif isinstance(value, dict) and depth < len(steps):
            if steps[depth] in value:
                pending.append((value[steps[depth]], depth + 1))
        elif isinstance(value, dict):
            pending.extend((each, depth) for each in reversed(value.values()))
        elif depth == len(steps):
            text = value if isinstance(value, str) else json.dumps(value)
            yield text.casefold() if folded else text
