"""The agent of a story, and its sleep-time agent or its colleague if the story has one."""

from __future__ import annotations

from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.store.agents.agents import tags_of
from tests.proof.stories import ASK, TOOLS, Story, colleague_tag
from tests.support.sleepers import paired
from tests.support.world import World


def made_for(story: Story, world: World) -> str:
    """Create the agent; returns its id. A sleep-time agent works after every turn; a colleague answers every message at once."""
    tools = (*TOOLS, *story.tools)
    agent_id = world.make_agent(kind=story.kind, blocks={"human": "Ann"}, tools=tools, rules=story.rules)
    if story.sleeper:
        paired(world, agent_id, every=1)
    if ASK[0] in tools:
        world.make_agent(tags=(colleague_tag(agent_id),))
    return agent_id


def sleeper_of(world: World, agent_id: str) -> StoredAgent | None:
    """The sleep-time agent, or None."""
    agent = world.stores.agents.get(agent_id)
    group = world.stores.groups.get(agent.managed_group_id) if agent is not None and agent.managed_group_id else None
    return world.stores.agents.get(group.agent_ids[0]) if group is not None else None


def colleagues(world: World, agent_id: str) -> list[str]:
    """The agents that the agent calls."""
    return [str(row["sk"]) for row in world.stores.agents.rows() if colleague_tag(agent_id) in tags_of(row)]
