"""Messages to groups: the recipient of a message to a group, the log of the group, and its reset (RT 9.4, decision
47).

A group has a conversation of its own, which is made with its first message: an agent's item and head under the id of the group.
Ids of agents have another form, so no route, list or count of agents reaches it. A message to a group of sleep-time agents is one
to the agent that they serve. Must not know how the agents of a group take turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hibernaut.domain.agents.group_turns import MOST_TURNS, most_turns
from hibernaut.schemas.agents.agent import AgentType, StoredAgent
from hibernaut.schemas.agents.conversation import Head, Window
from hibernaut.schemas.agents.group import SLEEPING, ManagerType, StoredGroup
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.messages.letta_message import LettaMessage
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.runs.send import LettaRequest
from hibernaut.services.agents.agent_windows import AgentWindows
from hibernaut.services.groups.groups import Groups
from hibernaut.services.logs.messages import DEFAULT_CONVERSATION, MessageLists, MessageQuery
from hibernaut.services.prompt.system_messages import SystemMessages, system_row
from hibernaut.services.records import Records
from hibernaut.services.sending.sending import SendRequest

WINDOW = 128_000
"""The part of the log, in tokens, from which the agents of a group receive the messages that they have missed."""
NO_MODEL = LLMConfig(model="group", model_endpoint_type="group", context_window=WINDOW, handle="hibernaut/group")
"""The model of a group's conversation, which is never called."""
TURNS_OF_A_CHOICE = 3
"""The largest number of turns for one that speaks: the manager is asked up to twice before it."""
_OF_ONE_AGENT = ("client_tools", "client_skills", "override_model", "override_system")


class GroupMessages:
    """Messages to groups of one tenant."""

    def __init__(
        self, records: Records, groups: Groups, *, prompts: SystemMessages, messages: MessageLists, windows: AgentWindows
    ) -> None:
        self._records = records
        self._groups = groups
        self._prompts = prompts
        self._messages = messages
        self._windows = windows

    def addressed(self, request: SendRequest) -> SendRequest:
        """A request whose `agent_id` is a group's, as `Sending` accepts it.

        Raises: NotFound for the group, or naming the agents of it that do not exist; InvalidArgument if no agent can speak, or
        for options that only one agent can have.
        """
        group = self._groups.retrieve(request.agent_id)
        self._groups.members(group)
        if group.manager_type in SLEEPING and group.manager_agent_id:
            return replace(request, agent_id=group.manager_agent_id)
        _check(group, request.body)
        self.open(group.id)
        body = request.body.model_copy(update={"max_steps": TURNS_OF_A_CHOICE * most_turns(group) + 1})
        return replace(request, body=body, links={"group_id": group.id}, model_checked=True)

    def page(self, group_id: str, query: MessageQuery) -> Sequence[LettaMessage]:
        """A page of the group's log, oldest first: the messages to the group, and the replies of its agents, under their names.
        Raises: NotFound.
        """
        owner = self.owner(group_id)
        if self._records.agents.get(owner) is None:
            return []
        return self._messages.page(owner, replace(query, conversation_id=DEFAULT_CONVERSATION))

    def reset(self, group_id: str) -> None:
        """Discard the messages that the agents have not received yet. The log keeps all messages. Raises: NotFound, Busy,
        Conflict.
        """
        owner = self.owner(group_id)
        if self._records.agents.get(owner) is not None:
            self._windows.reset(owner)

    def owner(self, group_id: str) -> str:
        """The agent, or the group in its place, whose conversation receives a message to the group. Raises: NotFound."""
        group = self._groups.retrieve(group_id)
        return group.manager_agent_id if group.manager_type in SLEEPING and group.manager_agent_id else group.id

    def open(self, group_id: str) -> None:
        """Make the conversation of the group, unless it exists. Raises: NotFound, Conflict."""
        self._records.until_settled(lambda: self._opened(group_id))

    def _opened(self, group_id: str) -> None:
        """The group's version counts it, so a deletion at the same time sees it. Raises:
        NotFound, ConditionFailed.
        """
        records = self._records
        if records.conversations.head(group_id) is not None:
            return
        group, token = self._groups.retrieve(group_id), records.ids.token()
        agent = self._agent(group)
        head, row = self._conversation(agent)
        records.writer.write(
            *records.groups.change(group, group, token),
            records.agents.create_unlisted(agent, token),
            records.conversations.create_head(head, token),
            records.conversations.put_message(agent.id, row),
            token=token,
        )

    def _agent(self, group: StoredGroup) -> StoredAgent:
        now = self._records.clock.now()
        return StoredAgent(
            id=group.id,
            name="group",
            system="",
            agent_type=AgentType.LETTA_V1,
            created_at=now,
            updated_at=now,
            llm_config=NO_MODEL,
            hidden=True,
        )

    def _conversation(self, agent: StoredAgent) -> tuple[Head, Message]:
        system_id = self._records.ids.new("message")
        head = Head(
            id=agent.id,
            agent_id=agent.id,
            window=Window(pinned=[system_id], cut=system_id),
            version=1,
            last_message=system_id,
            newest=[system_id],
            messages=1,
            created_at=agent.created_at,
        )
        compiled = self._prompts.compiled(agent, head, blocks=())
        return head.model_copy(update={"compiled": compiled.source}), system_row(system_id, agent, compiled, agent.created_at)


def _check(group: StoredGroup, body: LettaRequest) -> None:
    """Raises: InvalidArgument."""
    if group.manager_type is ManagerType.SWARM:
        raise InvalidArgument("INVALID_ARGUMENT: Groups of the manager type swarm take no messages.")
    if not group.agent_ids:
        raise InvalidArgument(f"INVALID_ARGUMENT: Group {group.id} has no agents. Add some (PATCH /v1/groups/{group.id}).")
    if most_turns(group) > MOST_TURNS:
        raise InvalidArgument(
            f"INVALID_ARGUMENT: Group {group.id} has max_turns {group.max_turns}; its agents speak at most {MOST_TURNS} times for one message."
        )
    if refused_fields := [name for name in _OF_ONE_AGENT if getattr(body, name)]:
        raise InvalidArgument(
            f"INVALID_ARGUMENT: A message to a group cannot have {', '.join(refused_fields)}: send it to one agent."
        )
