"""What a house is doing when it dies: short stories whose model answers by what it is shown, so that asking it again changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.ports.tool_runner import ToolJob, ToolOutcome
from hibernaut.schemas.agent import AgentType
from hibernaut.schemas.stop import StopReason
from hibernaut.services.calls import INTERRUPTED
from tests.support.scripted_model import Script, calls, echo, says
from tests.support.settled import check_settled
from tests.support.tokens import streamed
from tests.support.world import TENANT, World

INSERT = ("memory_insert", {"label": "human", "new_string": "Lives in Oslo"})
RING = ("ring", {"x": "twice"})


def by_step(*replies: ModelReply) -> Script:
    """The n-th reply in the n-th step of every run, the last one for ever after."""

    def script(request: ModelRequest, number: int) -> ModelReply:
        asked = max(place for place, row in enumerate(request.messages) if row.role == "user" and row.step_id is None)
        steps = sum(row.role == "assistant" for row in request.messages[asked:])
        return replies[min(steps, len(replies) - 1)]

    return script


@dataclass(frozen=True)
class Story:
    """`happens` is what the first house does; `effects` how often the outside world may be touched in all."""

    name: str
    script: Script
    happens: Callable[[World, str], None]
    kind: AgentType = AgentType.LETTA_V1
    tools: Sequence[str] = ("memory_insert", "ring", "send_message", "core_memory_append", "archival_memory_insert")
    texts: Sequence[str] = ("hello",)
    does: Callable[[World, str], Callable[[ToolJob], ToolOutcome]] = field(default=lambda *_: echo)


def one_message(world: World, agent_id: str) -> None:
    world.send(agent_id, "hello")


def a_stream_of_tokens(world: World, agent_id: str) -> None:
    streamed(world, agent_id)


def two_senders(world: World, agent_id: str) -> None:
    world.begin(agent_id, "hello")
    world.begin(agent_id, "and me")
    world.workflow.drive()


def cancelled_by_its_tool(world: World, agent_id: str) -> Callable[[ToolJob], ToolOutcome]:
    """A person cancels while the tool is at work."""

    def does(job: ToolJob) -> ToolOutcome:
        owner = world.head(agent_id).owner
        if owner is not None:
            world.chain.endings.end(TENANT, owner, StopReason.CANCELLED)
        return ToolOutcome("success", f"did {job.name}")

    return does


STORIES = [
    Story("a plain answer", by_step(says("hello to you")), one_message),
    Story("memory edited in two steps", by_step(calls(INSERT), calls(INSERT), says("noted")), one_message),
    Story("a tool outside", by_step(calls(RING), says("rung")), one_message),
    Story("calls of all kinds at once", by_step(calls(INSERT, RING, ("ring", {"x": "again"})), says("done")), one_message),
    Story("a stream of tokens", by_step(calls(INSERT, RING, text="Let me see."), says("done")), a_stream_of_tokens),
    Story("a passage put away", by_step(calls(("archival_memory_insert", {"content": "Oslo"})), says("kept")), one_message),
    Story(
        "heartbeats",
        by_step(
            calls(("core_memory_append", {"label": "human", "content": "Lives in Oslo", "request_heartbeat": True})),
            calls(("ring", {"x": "once", "request_heartbeat": True})),
            calls(("send_message", {"message": "noted", "request_heartbeat": False})),
        ),
        one_message,
        kind=AgentType.MEMGPT,
    ),
    Story(
        "a queue",
        by_step(calls(RING), says("done")),
        two_senders,
        texts=("hello", "and me"),
    ),
    Story(
        "a cancel in the middle of a call",
        by_step(calls(INSERT, RING), says("done")),
        two_senders,
        texts=("hello", "and me"),
        does=cancelled_by_its_tool,
    ),
]


def check_story(world: World, story: Story, agent_id: str) -> None:
    """The house has settled, no tool ran without a return that says so, and each edit that was reported is in memory once."""
    check_settled(world, agent_id)
    log = world.log(agent_id)
    assert all(sum(row.text() == text for row in log) <= 1 for text in story.texts)
    returned = [answer for row in log for answer in row.tool_returns]
    rung = [answer.func_response or "" for answer in returned if "ring" in answer.tool_call_id]
    told = [text for text in rung if "did ring" in text or INTERRUPTED in text]
    assert len(world.runner.effects) <= len(told), "a tool has run and no return says so"
    edits = [
        one
        for one in returned
        if one.status == "success" and one.tool_call_id.endswith(("-memory_insert", "-core_memory_append"))
    ]
    block = world.block(agent_id, "human").value
    assert block.count("Oslo") == len(edits), f"{len(edits)} edits are reported: {block}"
