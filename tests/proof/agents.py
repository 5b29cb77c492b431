"""The agent of a story, its sleep-time agent if the story has one, and its colleagues."""

from __future__ import annotations

from collections.abc import Callable

from hibernaut.ports.table import Key
from hibernaut.schemas.agents.agent import StoredAgent, UpdateAgent
from hibernaut.store.agents.agents import tags_of
from tests.proof.stories import ASK, TOOLS, Story, colleague_tag
from tests.support.sleepers import agents_of, set_up
from tests.support.world import World


def made_for(story: Story, opened: Callable[[], World]) -> str:
    """Create the agent; returns its id. A sleep-time agent works after every turn; a colleague answers every message at once. `opened` returns
    a world that has read nothing yet.
    """
    tools = (*TOOLS, *story.tools)
    agent_id = opened().make_agent(kind=story.kind, blocks={"human": "Ann"}, tools=tools, rules=story.rules)
    if story.sleeper:
        agents_of(opened()).updates.update(agent_id, UpdateAgent(enable_sleeptime=True))
        set_up(opened(), agent_id, every=1)
    if ASK[0] in tools:
        opened().make_agent(tags=(colleague_tag(agent_id),))
    return agent_id


def sleeper_of(world: World, agent_id: str) -> StoredAgent | None:
    """The sleep-time agent, or None."""
    agent = world.stores.agents.get(agent_id)
    group = world.stores.groups.get(agent.managed_group_id) if agent is not None and agent.managed_group_id else None
    return world.stores.agents.get(group.agent_ids[0]) if group is not None else None


def triggers_of(world: World, agent_id: str) -> list[Key]:
    """The places of the triggers that stand for the agent's group."""
    agent = world.stores.agents.get(agent_id)
    group_id = agent.managed_group_id if agent is not None else None
    return [place for place in world.all_stores.due.all() if group_id and place.pk.endswith(group_id)]


def colleagues(world: World, agent_id: str) -> list[str]:
    """The agents that the agent calls."""
    return [str(row["sk"]) for row in world.stores.agents.rows() if colleague_tag(agent_id) in tags_of(row)]
