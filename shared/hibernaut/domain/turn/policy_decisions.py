"""How a decision of a tool policy changes a call of a reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hibernaut.domain.tools import tool_policy
from hibernaut.domain.turn.actor import Actor, Call
from hibernaut.schemas.tools.tool_policy import CallDecision


def judged(actor: Actor, call: Call) -> Call:
    """The call as the policies of the actor's tenant decide it. A call that is refused anyway is not judged."""
    if call.refusal is not None or not actor.policies:
        return call
    judged_call = tool_policy.judged_call(call.name, actor.tool(call.name), call.args, actor.tags)
    return decided(actor, call, tool_policy.decision(actor.policies, judged_call, call.id))


def decided(actor: Actor, call: Call, decision: CallDecision | None) -> Call:
    """The call after a decision. Only a policy that waives approval lifts an approval that the agent's rules demand; calls that
    the client runs always wait for it.
    """
    if decision is None or call.refusal is not None:
        return call
    call = replace(call, decision=decision)
    match decision.action:
        case "deny":
            return replace(call, refusal=tool_policy.denial(decision), needs_approval=False)
        case "ask":
            return replace(call, needs_approval=True)
        case "allow":
            waived = decision.waives_approval and call.name not in actor.client_tools
            return replace(call, needs_approval=call.needs_approval and not waived)


def begun(actor: Actor, call: Call, decisions: Mapping[str, CallDecision]) -> Call:
    """A call of a journaled reply, as it was decided when the reply came. It may have begun, so it waits for no approval any
    more.
    """
    return replace(decided(actor, call, decisions.get(call.id)), needs_approval=False)
