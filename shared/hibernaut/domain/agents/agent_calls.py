"""Calls from agent to agent: names, limits, texts, the callers in a run's metadata, and the search for circles. Pure.

Names, the form of a reply and the text before a message are Letta's (RT 5.6), because clients and models parse them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.runs.run import StoredRun

AND_WAIT = "send_message_to_agent_and_wait_for_reply"
MATCHING_TAGS = "send_message_to_agents_matching_tags"
ONE_WAY = "send_message_to_agent_async"
AGENT_CALLS = (AND_WAIT, MATCHING_TAGS, ONE_WAY)
"""The tools that can be attached to an agent."""
GROUP_TURN = "group_turn"
"""The call by which a group lets one of its agents take its turn."""
TO_GROUP = "send_message_to_all_agents_in_group"
"""The tool of a group's supervisor."""
ALL_CALLS = (*AGENT_CALLS, GROUP_TURN, TO_GROUP)
"""All calls that begin runs of other agents."""

RUN_TYPE = "agent_message"
"""The `run_type` in the metadata of a run that another agent's message has begun."""
MOST_CALLERS = 8
"""The longest chain of runs that have called each other."""
MOST_AGENTS = 100
"""The largest number of agents that one call by tags reaches."""
MOST_SENT = 500
"""The largest number of messages between agents that one request of a client leads to, in all chains together."""
AT_ONCE = 10
"""The largest number of agents that work for one call at the same time."""
MOST_WALKED = 200
"""The largest number of runs that the search for a circle reads."""
NO_RESPONSE = "<no response>"
"""The reply of an agent that returned no text."""
IN_A_CIRCLE = (
    "This agent waits for you already, directly or through other agents, so its reply could never come. Nothing was sent. "
    "Go on without it; your own answer reaches it at the end."
)
TOO_MANY_WAIT = "More agents wait for each other here than can be checked for a circle, so nothing was sent. Try again later."

Walk = Literal["free", "circle", "too many"]


def calling_runs(run: StoredRun) -> list[str]:
    """The ids of the runs whose calls led to this run: the run of a client's request first, the caller last."""
    found = (run.metadata or {}).get("calling_runs")
    return [str(run_id) for run_id in found] if isinstance(found, list) else []


def awaited_by(run: StoredRun) -> str | None:
    """The id of the run that waits for the end of this run; None if none does."""
    caller_id = (run.metadata or {}).get("awaited_by")
    return str(caller_id) if caller_id else None


def group_of(run: StoredRun) -> str | None:
    """The id of the group for which the run works; None if it works for none."""
    group_id = (run.metadata or {}).get("group_id")
    return str(group_id) if group_id else None


def links(caller: StoredRun, *, waits: bool) -> JsonObject:
    """The part of a called run's metadata that names its callers, and the group for which they work."""
    chain: list[Json] = [*calling_runs(caller), caller.id]
    group_id = group_of(caller)
    found: JsonObject = {"calling_runs": chain, "calling_agent": caller.agent_id, **({"group_id": group_id} if group_id else {})}
    return {**found, "awaited_by": caller.id} if waits else found


def message_text(sender: str, message: str, *, waits: bool) -> str:
    """The message as the other agent reads it."""
    if waits:
        delivery = "your response will be delivered to the sender"
    else:
        delivery = "one-way: your response is not delivered to the sender. To answer, use a tool that sends messages to agents"
    return f"[Incoming message from agent with ID '{sender}' - {delivery}] {message}"


def message_otid(run_id: str, step: int, call_id: str, agent_id: str) -> str:
    """The otid of the message of one call to one agent, in the form of a UUID. A repeated call has the same one."""
    identity = "\n".join((run_id, str(step), call_id, agent_id))
    digits = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:32]}"


def reply_of(agent_id: str, texts: Sequence[str]) -> JsonObject:
    """The reply of an agent in the form that tools return."""
    response: list[Json] = [*texts] or [NO_RESPONSE]
    return {"agent_id": agent_id, "response": response}


def failure_of(agent_id: str, error: str) -> JsonObject:
    """What a call by tags returns for an agent that could not answer."""
    return reply_of(agent_id, [f"<error: {error}>"])


def walk(origin: str, first: Iterable[str], waits_for: Callable[[str], Iterable[str]], most: int = MOST_WALKED) -> Walk:
    """Whether the runs `first`, or what they wait for in turn, wait for the run `origin`.

    `waits_for` returns the runs that a run waits for; it is asked for at most `most` runs, and for each once.
    """
    visited: set[str] = set()
    ahead = list(first)
    while ahead:
        run_id = ahead.pop()
        if run_id == origin:
            return "circle"
        if run_id in visited:
            continue
        if len(visited) == most:
            return "too many"
        visited.add(run_id)
        ahead += waits_for(run_id)
    return "free"
