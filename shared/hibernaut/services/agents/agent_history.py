"""The history of agents: versions of their settings, and an agent as it was at a message or a time: settings, blocks and tools.

Every read is of versions; nothing is changed. Tools have no versions: a past agent names the tools that it had.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hibernaut.domain.memory import versions
from hibernaut.domain.window import forks
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.agents.agent_version import AgentVersion, PastAgent, PastTool
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.block import StoredBlock
from hibernaut.schemas.memory.version import BlockVersion, VersionDiff
from hibernaut.schemas.messages.message import Message
from hibernaut.services.records import Records
from hibernaut.store.agents.agents import state_of
from hibernaut.store.conversations.messages import MessageStore
from hibernaut.store.memory.blocks import state_of as state_of_block
from hibernaut.store.runs.steps import StepStore
from hibernaut.store.stores import TenantStores
from hibernaut.store.versions.history import History, VersionState, shown_state, states_at

LAST_ROWS = 400
"""Rows of a log that are read to find the replies whose calls a message leaves open."""


@immutable
class PastState:
    """An agent at a time. `agent` has no secrets; `blocks` are those that it had, with their versions, in the order of
    attachment.
    """

    at: datetime
    agent: StoredAgent
    version: VersionState
    blocks: Sequence[tuple[StoredBlock, VersionState]]


class AgentHistory:
    """The use cases of the versions of agents."""

    def __init__(self, stores: TenantStores, records: Records) -> None:
        self._records = records
        self._messages: MessageStore = stores.messages
        self._steps: StepStore = stores.steps

    def _of(self, agent_id: str) -> History:
        agent = self._records.agent(agent_id)
        return History(self._records.versions, self._records.agents.history(agent_id), state_of(agent))

    def page(
        self, agent_id: str, *, after: int | None, before: int | None, limit: int, descending: bool
    ) -> Sequence[AgentVersion]:
        """A page of the versions of an agent's settings, without the settings. Raises: NotFound."""
        found = self._of(agent_id).page(after=after, before=before, limit=limit, descending=descending)
        return [AgentVersion(**dict(one), agent_id=agent_id) for one in found]

    def version(self, agent_id: str, number: int) -> AgentVersion:
        """The settings as a version left them. Raises: NotFound, VersionExpired."""
        return _shown(agent_id, self._of(agent_id).state(number))

    def version_at(self, agent_id: str, moment: datetime) -> AgentVersion:
        """The version in force at a time. Raises: NotFound, VersionExpired."""
        return _shown(agent_id, self._of(agent_id).at(moment))

    def diff(self, agent_id: str, number: int, to: int | None = None) -> VersionDiff:
        """The differences between two versions; without `to`, the changes of the version itself. Raises: NotFound,
        VersionExpired.
        """
        history = self._of(agent_id)
        first, last = (number, to) if to is not None else (number - 1, number)
        before = history.state(first).content or {} if first else {}
        changes = versions.differences(before, history.state(last).content or {})
        return VersionDiff(from_version=first, to_version=last, changes=changes)

    def past(self, agent_id: str, *, at: datetime | None = None, message_id: str | None = None) -> PastAgent:
        """The agent as it was at a time, or when a message was written. Raises: NotFound, VersionExpired."""
        if message_id is not None:
            at = self.moment_of(self.message(agent_id, message_id))
        state = self.state_at(agent_id, at or self._records.clock.now())
        tools = self._records.tools.get_many(state.agent.tool_ids)
        return PastAgent(
            agent_id=agent_id,
            at=state.at,
            message_id=message_id,
            version=_shown(agent_id, state.version),
            blocks=[BlockVersion(**dict(shown_state(one)), block_id=block.id, block=block.wire()) for block, one in state.blocks],
            tools=[
                PastTool(id=each, name=tools[each].name if each in tools else None, exists=each in tools)
                for each in state.agent.tool_ids
            ],
        )

    def state_at(self, agent_id: str, at: datetime) -> PastState:
        """The agent and its blocks at a time. Raises: NotFound, VersionExpired."""
        version = self._of(agent_id).at(at)
        agent = StoredAgent.model_validate({**(version.content or {}), "secrets": []})
        current = self._records.blocks.get_many(agent.block_ids)
        histories = [self._of_block(block_id, current.get(block_id)) for block_id in agent.block_ids]
        states = states_at(self._records.versions, histories, at)
        found = [(StoredBlock.model_validate(state.content), state) for state in states if state.content is not None]
        return PastState(at, agent, version, found)

    def _of_block(self, block_id: str, block: StoredBlock | None) -> History:
        place = self._records.blocks.history(block_id)
        return History(self._records.versions, place, state_of_block(block) if block else None)

    def message(self, agent_id: str, message_id: str) -> Message:
        """A message of one of the agent's conversations. Raises: NotFound."""
        self._records.agent(agent_id)
        row = self._records.conversations.message(agent_id, message_id) or self._messages.get(message_id)
        if row is None or row.agent_id != agent_id:
            raise NotFound(f"No message found with id '{message_id}' for agent '{agent_id}'.")
        return row

    def rows_until(self, row: Message, most: int) -> list[Message]:
        """The newest `most` rows of the message's conversation up to it, without the calls that it leaves open, oldest first."""
        log = row.conversation_id or row.agent_id
        older = self._records.conversations.page(log, before=row.id, limit=most - 1, descending=True)
        return forks.settled([one for one in (*older[::-1], row) if one.role != "system"])

    def moment_of(self, row: Message) -> datetime:
        """The time of the memory state that belongs to this message: the commit of the step whose last row it is, else the time
        at which the message was written.
        """
        rows = self.rows_until(row, LAST_ROWS)
        last = rows[-1] if rows else row
        step = self._steps.get(last.step_id) if last.step_id else None
        return step.created_at if step is not None and step.last_message == last.id else last.created_at


def _shown(agent_id: str, state: VersionState) -> AgentVersion:
    return AgentVersion(**dict(shown_state(state)), agent_id=agent_id, settings=state.content)
