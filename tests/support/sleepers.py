"""Agents with sleep-time agents over a `World`, and scripts in which both talk."""

from __future__ import annotations

from dataclasses import dataclass

from hibernaut.ports.model import ModelRequest
from hibernaut.schemas.agents.agent import CreateAgentRequest, UpdateAgent
from hibernaut.schemas.agents.group import GroupUpdate, SleeptimeChanges, StoredGroup
from hibernaut.schemas.memory.block import CreateBlock
from hibernaut.services.agents.agent_creation import AgentCreation
from hibernaut.services.agents.agent_deletion import AgentDeletion
from hibernaut.services.agents.agent_updates import AgentUpdates
from hibernaut.services.agents.agent_windows import AgentWindows
from hibernaut.services.agents.agents import Agents
from hibernaut.services.conversations.conversation_deletion import ConversationDeletion
from hibernaut.services.prompt.file_views import FileViews
from tests.support.conversations import records_of
from tests.support.groups import groups_of
from tests.support.scripted_model import Script, calls, in_turn, says
from tests.support.world import World

FINISH = ("memory_finish_edits", {})


@dataclass(frozen=True)
class Pair:
    """An agent, its sleep-time agent, and their group."""

    main: str
    sleeper: str
    group: str


def agents_of(world: World) -> Agents:
    """The use cases of agents, composed as in the composition root."""
    records, prompts = records_of(world), world.chain.prompts
    windows = AgentWindows(records, models=world.models, prompts=prompts)
    creation = AgentCreation(records, models=world.models, prompts=prompts)
    return Agents(
        records,
        FileViews(world.stores),
        creation=creation,
        updates=AgentUpdates(records, models=world.models, windows=windows, creation=creation),
        windows=windows,
        deletion=AgentDeletion(records, ConversationDeletion(records, termination=world.chain.termination)),
    )


def pair_in(world: World, *, every: int | None = None, idle: int | None = None, **fields: object) -> Pair:
    """Create a pair that shares the block `human`. `every` None: the default frequency."""
    request = CreateAgentRequest(
        name="Ada",
        model="test/scripted",
        enable_sleeptime=True,
        memory_blocks=[CreateBlock(label="human", value="Nobody.")],
        **fields,  # type: ignore[arg-type]
    )
    return set_up(world, agents_of(world).creation.create(request).id, every, idle)


def paired(world: World, agent_id: str, *, every: int | None = None, idle: int | None = None) -> Pair:
    """Give an agent a sleep-time agent."""
    agents_of(world).updates.update(agent_id, UpdateAgent(enable_sleeptime=True))
    return set_up(world, agent_id, every, idle)


def set_up(world: World, agent_id: str, every: int | None = None, idle: int | None = None) -> Pair:
    """Set when the sleep-time agent of an agent works; returns the pair. Reads first, then writes."""
    agent = world.stores.agents.get(agent_id)
    assert agent is not None
    assert agent.managed_group_id is not None
    group = world.stores.groups.get(agent.managed_group_id)
    assert group is not None
    if every is not None or idle is not None:
        config = SleeptimeChanges(sleeptime_agent_frequency=every, sleeptime_idle_seconds=idle)
        groups_of(world).update(group.id, GroupUpdate(manager_config=config))
    return Pair(agent_id, group.agent_ids[0], group.id)


def group_in(world: World, pair: Pair) -> StoredGroup:
    group = world.stores.groups.get(pair.group)
    assert group is not None
    return group


def is_asleep(request: ModelRequest) -> bool:
    """Whether a request is one of a sleep-time agent."""
    return any(tool.name == "memory_finish_edits" for tool in request.tools)


def both(sleeper: Script, awake: Script) -> Script:
    """A script for both."""
    return lambda request, number: (sleeper if is_asleep(request) else awake)(request, number)


finishes: Script = in_turn(calls(FINISH))
"""The sleep-time agent has nothing to write."""
agrees: Script = in_turn(says("Yes."))


def transcripts(world: World, pair: Pair) -> list[str]:
    """What the sleep-time agent was told, message by message."""
    return [row.text() for row in world.log(pair.sleeper) if row.role == "user" and row.step_id is None]
