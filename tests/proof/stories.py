"""The stories of the proof: the requests of clients, the replies of the model, and events that happen meanwhile.

The replies are a function of the request, so that a repeated model call gets the same reply. Each call of the tool `ring` has
unique arguments, so that a repeated effect is visible. Must not know engines or faults.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hibernaut.domain.agents.agent_calls import MATCHING_TAGS
from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.schemas.agents.agent import AgentType
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.tools.tool_rule import RequiresApprovalToolRule, ToolRule
from tests.proof.clients import Act, Answer, Client, Import, Rest, Say, Scheduled, Withdraw
from tests.support.scripted_model import Script, calls, says
from tests.support.sleepers import FINISH, both
from tests.support.world import BESIDE as RING_BESIDE

STILL_THERE = "still there?"
"""The last message of each proof, which must be answered as usual."""
INSERT = ("memory_insert", {"label": "human", "new_string": "Lives in Oslo"})
RING = ("ring", {"x": ""})
BESIDE = (RING_BESIDE, {"x": ""})
"""A call that may be made beside others."""
NOTE = ("memory_insert", {"label": "human", "new_string": "Was in Bergen"})
"""The edit of a sleep-time agent."""
ASK = (MATCHING_TAGS, {"message": "", "match_all": [], "match_some": []})
TOOLS = ("memory_insert", "ring", "send_message", "core_memory_append", "archival_memory_insert")


def asked(rows: Sequence[Message]) -> int:
    """The position of the newest user message."""
    return max(place for place, row in enumerate(rows) if row.role == "user" and row.step_id is None)


YES = says("Yes.")


def by_step(*replies: ModelReply, only: str = "", last: ModelReply = YES) -> Script:
    """A script: the n-th reply in the n-th step after the newest user message, then the last reply again. `last`: the reply to
    the last message of the proof.

    `only`: a user message without this text gets the last reply at once.
    """

    def script(request: ModelRequest, number: int) -> ModelReply:
        if not request.tools:
            return says("They talked.")
        place = asked(request.messages)
        text = request.messages[place].text()
        if STILL_THERE in text:
            return last
        if only not in text:
            return replies[-1]
        replied = {row.step_id for row in request.messages[place:] if row.role in ("assistant", "approval") and row.step_id}
        step = len(replied)
        return _told(replies[min(step, len(replies) - 1)], f"{text[:20]} {step}", request.user or "")

    return script


def in_group(script: Script) -> Script:
    """A script for a group: its agent without tools agrees at once."""
    return lambda request, number: script(request, number) if request.tools else says("Me too.")


def colleague_tag(agent_id: str) -> str:
    """The tag of the agent that the agent of a story calls."""
    return f"colleague of {agent_id}"


def _told(reply: ModelReply, where: str, agent_id: str) -> ModelReply:
    """The reply with unique arguments in its calls of `ring` and of other agents: the place where they were made."""
    made = []
    for number, call in enumerate(reply.tool_calls):
        arguments = json.loads(call.arguments)
        if "x" in arguments:
            call = replace(call, arguments=json.dumps({**arguments, "x": f"{where} {number}"}))
        if "match_all" in arguments:
            named = {"message": f"{where} {number}", "match_all": [colleague_tag(agent_id)]}
            call = replace(call, arguments=json.dumps({**arguments, **named}))
        made.append(call)
    return replace(reply, tool_calls=tuple(made))


@dataclass(frozen=True)
class Story:
    """A scenario. `acts` are performed one after another; `meanwhile` happens during each outside tool call, `thinking` during
    each model call.

    `model`: properties of the scripted model. `blobs`: the story needs a store for large bodies. `later`: the story needs a clock
    that can be advanced. `sleeper`: the agent has a sleep-time agent, which works after every turn. `tools`: further tools of the
    agent. `group`: a group of two agents takes the place of the agent.
    """

    name: str
    script: Script
    acts: Sequence[Act] = (Say("hello"),)
    kind: AgentType = AgentType.LETTA_V1
    meanwhile: Callable[[Client], None] | None = None
    thinking: Callable[[Client], None] | None = None
    rules: Sequence[ToolRule] = ()
    model: Mapping[str, Any] = field(default_factory=dict)
    blobs: bool = False
    later: bool = False
    sleeper: bool = False
    tools: Sequence[str] = ()
    group: bool = False


def cancels(client: Client) -> None:
    """A client cancels the current run."""
    owner = client.owner()
    if owner is not None and owner == client.run_of("hello"):
        client.desk.termination.end(owner, StopReason.CANCELLED)


def cancels_the_wait(client: Client) -> None:
    """A client cancels the current run while no worker holds it, because it waits for another agent."""
    owner = client.owner()
    state = client.desk.stores.runs.get(owner) if owner is not None and owner == client.run_of("hello") else None
    if state is not None and state.lease == 0:
        client.desk.termination.end(state.run.id, StopReason.CANCELLED)


STOP = Say("stop that", when_busy="interrupt")
LATE = Say("and me", waits=False)


def comes_late(client: Client) -> None:
    """Another client sends a message while the model writes the reply that ends the run."""
    if client.run_of("hello") is not None:
        LATE.done(client)


def interrupts(client: Client) -> None:
    """A client interrupts the current run with another message."""
    owner = client.owner()
    if owner is not None and owner == client.run_of("hello"):
        STOP.done(client)


HELD = (RequiresApprovalToolRule(tool_name="ring"),)
asks = by_step(calls(RING, INSERT, RING), says("done"), only="hello")
STORIES = [
    Story("plain", by_step(says("hello to you"))),
    Story("large message", by_step(says("so much!")), acts=(Say("hello " * 15_000),), blobs=True),
    Story("memory", by_step(calls(INSERT), calls(INSERT), says("noted"))),
    Story("chain of five", by_step(calls(INSERT), calls(RING), calls(INSERT), calls(RING), says("done"))),
    Story("parallel tools", by_step(calls(INSERT, RING, RING), says("done"))),
    Story(
        "tools at once", by_step(calls(BESIDE, BESIDE, INSERT, BESIDE, RING, BESIDE, BESIDE), says("done")), tools=(RING_BESIDE,)
    ),
    Story("tokens", by_step(calls(INSERT, RING, text="Let me see."), says("done")), acts=(Say("hello", tokens=True),)),
    Story(
        "sleep-time",
        both(by_step(calls(NOTE), calls(FINISH), last=calls(FINISH)), by_step(calls(INSERT), says("noted"))),
        acts=(Say("hello", waits=False), Say("and me")),
        sleeper=True,
    ),
    Story("archival", by_step(calls(("archival_memory_insert", {"content": "Oslo"})), says("kept"))),
    Story(
        "heartbeats",
        by_step(
            calls(("core_memory_append", {"label": "human", "content": "Lives in Oslo", "request_heartbeat": True})),
            calls(("ring", {"x": "", "request_heartbeat": True})),
            calls(("send_message", {"message": "noted", "request_heartbeat": False})),
            last=calls(("send_message", {"message": "Yes."})),
        ),
        kind=AgentType.MEMGPT,
    ),
    Story(
        "two senders",
        by_step(calls(RING), says("done")),
        acts=(Say("hello", waits=False), Say("and me")),
    ),
    Story("wake", by_step(calls(INSERT, RING), says("done")), acts=(Say("hello"), Rest("rested"), Say("and me")), blobs=True),
    Story("import", by_step(says("hello to you")), acts=(Import("imported"), Say("hello")), blobs=True),
    Story("schedule", by_step(calls(INSERT, RING), says("done")), acts=(Scheduled("hello"),)),
    Story("late sender", by_step(says("done")), acts=(Say("hello"), LATE), thinking=comes_late),
    Story(
        "cancel",
        by_step(calls(INSERT, RING), says("done")),
        acts=(Say("hello", waits=False), Say("and me")),
        meanwhile=cancels,
    ),
    Story(
        "interrupt",
        by_step(calls(INSERT, RING), says("done")),
        acts=(Say("hello"), STOP),
        meanwhile=interrupts,
    ),
    Story("approval: yes", asks, acts=(Say("hello"), Answer("yes", "yes")), rules=HELD),
    Story("approval: no", asks, acts=(Say("hello"), Answer("no", "no", text="and mind")), rules=HELD),
    Story("approval: mixed", asks, acts=(Say("hello"), Answer("mixed", "mixed", text="and mind")), rules=HELD),
    Story("approval: queue", asks, acts=(Say("hello"), Say("and me", when_busy="queue"), Answer("yes", "yes")), rules=HELD),
    Story("approval: interrupt", asks, acts=(Say("hello"), Say("stop that", when_busy="interrupt")), rules=HELD),
    Story("approval: cancel", asks, acts=(Say("hello"), Withdraw("withdrawn"), Say("and me")), rules=HELD),
    Story("approval: deadline", asks, acts=(Say("hello", deadline=600),), rules=HELD, later=True),
    Story(
        "client tool",
        by_step(calls(RING, ("lamp", {"x": ""}), INSERT), says("done")),
        acts=(Say("hello", client_tools=("lamp",)), Answer("did it")),
    ),
    Story("agent call", by_step(calls(INSERT, ASK, ASK, RING), says("done")), tools=(ASK[0],)),
    Story(
        "agent call: cancel",
        by_step(calls(ASK, RING), says("done")),
        acts=(Say("hello", waits=False), Say("and me")),
        thinking=cancels_the_wait,
        tools=(ASK[0],),
    ),
    Story("group turn", in_group(by_step(calls(INSERT, RING), says("done"))), group=True),
    Story(
        "compaction",
        by_step(calls(RING), says("done, " * 200)),
        acts=(Say("hello " + "a " * 400), Say("again " + "b " * 400), Say("and again " + "c " * 400)),
        model={"context_window": 2600},
    ),
    Story(
        "no room for a summary",
        by_step(says("done, " * 200)),
        acts=(Say("hello " + "a " * 400), Say("again " + "b " * 400)),
        model={"context_window": 1500},
    ),
]
