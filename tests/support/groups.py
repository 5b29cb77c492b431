"""Groups of a `World`'s agents, and messages to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.agents.group import GroupCreate, StoredGroup
from hibernaut.schemas.messages.letta_message import LettaMessage
from hibernaut.schemas.runs.send import LettaRequest
from hibernaut.services.agents.agent_windows import AgentWindows
from hibernaut.services.conversations.conversation_deletion import ConversationDeletion
from hibernaut.services.groups.group_messages import GroupMessages
from hibernaut.services.groups.groups import Groups
from hibernaut.services.logs.messages import MessageLists, MessageQuery
from hibernaut.services.sending.sending import AcceptedRequest, SendRequest
from tests.support.conversations import records_of
from tests.support.team import Reply, Team
from tests.support.world import World


def groups_of(world: World) -> Groups:
    """The use cases of groups."""
    records = records_of(world)
    return Groups(records, ConversationDeletion(records, termination=world.chain.termination))


def group_messages_of(world: World) -> GroupMessages:
    """The use cases of messages to groups."""
    stores, prompts, records = world.stores, world.chain.prompts, records_of(world)
    lists = MessageLists(
        agents=stores.agents, conversations=stores.conversations, agent_logs=stores.agent_logs, log=stores.messages
    )
    windows = AgentWindows(records, models=world.models, prompts=prompts)
    return GroupMessages(records, groups_of(world), prompts=prompts, messages=lists, windows=windows)


def made_group(world: World, agent_ids: Sequence[str], **config: Any) -> StoredGroup:
    """Create a group. `config`: its manager; without one, the agents take turns."""
    wanted = {"manager_config": {"manager_type": "round_robin", **config}} if config else {}
    return groups_of(world).create(GroupCreate.model_validate({"agent_ids": agent_ids, "description": "a team", **wanted}))


def accept_in(world: World, group_id: str, text: str, *, digest: str = "", **options: Any) -> AcceptedRequest:
    """Accept a message to a group. Its run is not started."""
    body = LettaRequest.model_validate({"messages": [{"role": "user", "content": text}], **options})
    request = SendRequest(group_id, body, "send_message", digest or world.ids.token())
    accepted = world.sending.accept(group_messages_of(world).addressed(request))
    if not accepted.attached:
        world.data.sent[accepted.run_id] = [text]
    return accepted


def begin_in_group(world: World, group_id: str, text: str, **options: Any) -> str:
    """Accept and start a message to a group; returns the run's id. No step is executed yet."""
    accepted = accept_in(world, group_id, text, **options)
    if not accepted.attached and not accepted.waits:
        world.sending.start(accepted.run_id)
    return accepted.run_id


def send_in(world: World, group_id: str, text: str, **options: Any) -> str:
    """Begin a message to a group and execute all runs to their end; returns the run's id."""
    run_id = begin_in_group(world, group_id, text, **options)
    world.workflow.drive()
    return run_id


def named(world: World, agent_id: str, name: str) -> str:
    """Give an agent a name; returns its id."""
    stores, token = world.stores, world.ids.token()
    before = stores.agents.get(agent_id)
    assert isinstance(before, StoredAgent)
    stores.writer.write(*stores.agents.change(before, before.model_copy(update={"name": name}), token), token=token)
    return agent_id


def lines(messages: Sequence[LettaMessage]) -> list[tuple[str, str | None, str]]:
    """Type, speaker and text of messages."""
    return [(one.message_type, one.name, str(getattr(one, "content", ""))) for one in messages]


def log_of(world: World, group_id: str) -> list[tuple[str, str | None, str]]:
    """Type, speaker and text of the messages in a group's log, without the system message."""
    return lines(group_messages_of(world).page(group_id, replace(MessageQuery(), limit=None)))[1:]


def member(team: Team, name: str, *replies: Reply) -> str:
    """An agent that says these replies, one for each turn."""
    agent_id = named(team.world, team.agent(tools=()), name)
    turns = iter(replies)
    said = dict[str, Reply]()

    def play(text: str, number: int) -> Reply:
        del number
        key = f"{len(team.runs(agent_id))} {text}"
        if key not in said:
            said[key] = next(turns)
        return said[key]

    team.plays[agent_id] = play
    return agent_id


def heard(team: Team, agent_id: str) -> list[tuple[str, str | None, str]]:
    """Role, sender's name and text of what an agent was told."""
    rows = [row for row in team.world.log(agent_id) if row.run_id is not None and row.step_id is None]
    return [(row.role, row.name, row.text()) for row in rows]
