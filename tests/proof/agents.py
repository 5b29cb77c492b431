"""The agent of a story, its sleep-time agent if the story has one, and its colleagues; or the group of a story, and its
members.
"""

from __future__ import annotations

from collections.abc import Callable

from hibernaut.domain.agents.group_turns import is_group
from hibernaut.ports.storage.table import Key
from hibernaut.schemas.agents.agent import StoredAgent, UpdateAgent
from hibernaut.store.agents.agents import tags_of
from tests.proof.clients import Import
from tests.proof.imported import IMPORTS
from tests.proof.stories import ASK, TOOLS, Story, colleague_tag
from tests.support.groups import group_messages_of, made_group
from tests.support.sleepers import agents_of, set_up
from tests.support.world import World


def made_for(story: Story, opened: Callable[[], World]) -> str:
    """Create the agent, or the group with two agents, of which only the first one has tools; returns the id. A sleep-time agent
    works after every turn; a colleague answers every message at once. `opened` returns a world that has read nothing yet.
    """
    if story.group:
        members = [opened().make_agent(blocks={"human": "Ann"}, tools=tools) for tools in (TOOLS, ())]
        group_id = made_group(opened(), members).id
        group_messages_of(opened()).open(group_id)
        return group_id
    tools = (*TOOLS, *story.tools)
    tags = (IMPORTS,) if any(isinstance(act, Import) for act in story.acts) else ()
    agent_id = opened().make_agent(kind=story.kind, blocks={"human": "Ann"}, tools=tools, rules=story.rules, tags=tags)
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
    """The agents that the agent calls; the members of a group."""
    if is_group(agent_id):
        group = world.stores.groups.get(agent_id)
        return group.agent_ids if group is not None else []
    return [str(row["sk"]) for row in world.stores.agents.rows() if colleague_tag(agent_id) in tags_of(row)]
