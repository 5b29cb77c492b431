"""The agent of a story, and its sleep-time agent if the story has one."""

from __future__ import annotations

from hibernaut.schemas.agents.agent import StoredAgent
from tests.proof.stories import TOOLS, Story
from tests.support.sleepers import paired
from tests.support.world import World


def made_for(story: Story, world: World) -> str:
    """Create the agent; returns its id. A sleep-time agent works after every turn."""
    agent_id = world.make_agent(kind=story.kind, blocks={"human": "Ann"}, tools=TOOLS, rules=story.rules)
    if story.sleeper:
        paired(world, agent_id, every=1)
    return agent_id


def sleeper_of(world: World, agent_id: str) -> StoredAgent | None:
    """The sleep-time agent, or None."""
    agent = world.stores.agents.get(agent_id)
    group = world.stores.groups.get(agent.managed_group_id) if agent is not None and agent.managed_group_id else None
    return world.stores.agents.get(group.agent_ids[0]) if group is not None else None
