"""Deletes an agent with its sleep-time agents, its runs, its conversations and all records under it.

Must not know its caller: a request, or the erasure of a person.
"""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.ports.storage.table import Change
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.services.agents.sleeptime_pairs import parting, sleepers_of
from hibernaut.services.conversations.conversation_deletion import ConversationDeletion
from hibernaut.services.records import Records
from hibernaut.store.deletion import DeletionTombstone
from hibernaut.store.versions.version_store import UNKNOWN, Edit


class AgentDeletion:
    """The deletion of agents. `conversations` ends their runs and deletes their conversations."""

    def __init__(self, records: Records, conversations: ConversationDeletion) -> None:
        self._records = records
        self.conversations = conversations

    def delete(self, agent_id: str, edit: Edit = UNKNOWN) -> None:
        """Delete an agent: its sleep-time agents first, then its runs and conversations, then the agent with its links, then the
        records under it.

        Its blocks, tools and archives stay. A second call resumes an interrupted deletion. `edit`: its author. Raises: NotFound,
        Conflict.
        """
        if self.conversations.go_on(agent_id):
            return
        for sleeper in sleepers_of(self._records, self._records.agent(agent_id)):
            if sleeper.id != agent_id:
                self.delete(sleeper.id, edit)
        self.conversations.delete_all(agent_id)
        self._records.until_settled(lambda: self._delete(agent_id, edit))
        self.conversations.go_on(agent_id)

    def _delete(self, agent_id: str, edit: Edit) -> None:
        records = self._records
        agent = records.agent(agent_id)
        agent = records.approach(agent, agent.model_copy(update={"tags": [], "identity_ids": []}), edit)
        self.conversations.end_runs(agent_id)
        head, token = records.conversations.head(agent_id), records.ids.token()
        mark = records.deletion.tombstone(agent_id, DeletionTombstone(agent_id), records.clock.now())
        parents = [*records.agents.delete(agent), *records.agent_marks.delete(agent), records.deletion.budget(agent_id), mark]
        records.write(
            [*_links(records, agent), *parting(records, agent, token, edit)],
            [*parents, records.deletion.head(head)] if head else parents,
            token,
        )


def _links(records: Records, agent: StoredAgent) -> Sequence[Change]:
    blocks = [records.blocks.detach(block_id, agent.id) for block_id in agent.block_ids]
    tools = [change for tool_id in agent.tool_ids for change in records.tools.detach(tool_id, agent.id)]
    archive_ids = records.archives.of_agent(agent.id)
    archives = [change for archive_id in archive_ids for change in records.archives.detach(archive_id, agent.id)]
    folders = [records.folders.detach(folder_id, agent.id) for folder_id in agent.source_ids]
    return [*blocks, *tools, *folders, *archives]
