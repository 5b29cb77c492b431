"""Forks of agents: a new agent with the settings and the memory that another one had at a message, and with its messages up to
there.

The fork is a copy: what either of the two does later does not touch the other. Blocks and messages are copied; tools, folders and
archives are shared, because they are no agent's own. Secrets are those of today, because no version holds them.
"""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.domain.agents.agent_names import check_name
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.agents.agent_version import ForkAgent
from hibernaut.schemas.agents.conversation import Head, Window
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.memory.block import StoredBlock
from hibernaut.schemas.messages.message import Message
from hibernaut.services.agents.agent_creation import AgentCreation, AgentParts
from hibernaut.services.agents.agent_history import AgentHistory, PastState
from hibernaut.services.prompt.system_messages import SystemMessages, system_row
from hibernaut.services.records import Records, by_key
from hibernaut.store.conversations.conversations import LoadedConversation

MOST_MESSAGES = 2_000
"""The largest number of messages that a fork copies: the newest ones up to the named message."""
NEWEST = 100
"""The newest rows that a head names."""
_NOT_TAKEN = {
    "last_run_completion": None,
    "last_run_duration_ms": None,
    "last_stop_reason": None,
    "enable_sleeptime": None,
    "managed_group_id": None,
}


class AgentForks:
    """Creates forks."""

    def __init__(self, records: Records, history: AgentHistory, *, creation: AgentCreation, prompts: SystemMessages) -> None:
        self._records = records
        self._history = history
        self._creation = creation
        self._prompts = prompts

    def fork(self, agent_id: str, request: ForkAgent, *, user: str | None = None, key_id: str | None = None) -> StoredAgent:
        """Create the fork. Raises: NotFound (the agent, the message), InvalidArgument (the name), VersionExpired, Conflict."""
        if request.name is not None:
            check_name(request.name)
        row = self._history.message(agent_id, request.message_id)
        messages = self._history.rows_until(row, MOST_MESSAGES)
        past = self._history.state_at(agent_id, self._history.moment_of(row))

        def attempt() -> StoredAgent:
            agent, parts = self._agent(agent_id, past, request, user)
            conversation = self._conversation(agent, parts, self._window(row, messages), messages)
            return self._creation.write(agent, parts, conversation, by_key(key_id))

        return self._records.until_settled(attempt)

    def _agent(self, agent_id: str, past: PastState, request: ForkAgent, user: str | None) -> tuple[StoredAgent, AgentParts]:
        """The new agent and its parts, of which those exist that still do."""
        records, now, new_id = self._records, self._records.clock.now(), self._records.ids.new("agent")
        source = records.agent(agent_id)
        tools = records.tools.get_many(past.agent.tool_ids)
        folders = records.folders.get_many(past.agent.source_ids)
        blocks = [self._copy(block) for block, _ in past.blocks]
        identities = records.identities.get_many(past.agent.identity_ids)
        identity_ids = [each for each in past.agent.identity_ids if each in identities]
        archives = [archive.id for archive in records.archives.open_of_agent(agent_id)]
        fork_tools = [tools[tool_id] for tool_id in past.agent.tool_ids if tool_id in tools]
        folder_ids = [folder_id for folder_id in past.agent.source_ids if folder_id in folders]
        parts = AgentParts(blocks, blocks, fork_tools, folder_ids, identity_ids, archives)
        secrets = [
            secret.model_copy(
                update={
                    "id": records.ids.new("agent-env"),
                    "agent_id": new_id,
                    "value": records.secrets.value(agent_id, secret),
                    "value_enc": None,
                    "created_at": now,
                    "updated_at": now,
                }
            )
            for secret in source.secrets
        ]
        fork = past.agent.model_copy(
            update={
                **_NOT_TAKEN,
                "id": new_id,
                "name": request.name or f"{past.agent.name} fork",
                "version": 1,
                "created_at": now,
                "updated_at": now,
                "created_by_id": user,
                "last_updated_by_id": user,
                "block_ids": [block.id for block in blocks],
                "tool_ids": [tool.id for tool in fork_tools],
                "source_ids": folder_ids,
                "identity_ids": identity_ids,
                "secrets": secrets,
            },
            deep=True,
        )
        return fork, parts

    def _copy(self, block: StoredBlock) -> StoredBlock:
        now = self._records.clock.now()
        changes = {"id": self._records.ids.new("block"), "version": 1, "created_at": now, "updated_at": now, "identity_ids": []}
        return block.model_copy(update=changes, deep=True)

    def _window(self, row: Message, messages: Sequence[Message]) -> Window:
        """The window of the source's conversation, if the message is in it and not older than its summary: then the fork begins
        with the same summary and the same rows. Else a window of all copied rows, which the first run compacts if they do not
        fit.
        """
        head = self._records.conversations.head(row.conversation_id or row.agent_id)
        if head is None:
            raise NotFound(f"Conversation of message {row.id} not found.")
        ids = {one.id for one in messages}
        cut, summary = head.window.cut, head.window.pinned[1:]
        if cut is None or cut not in ids or row.id <= cut or not ids.issuperset(summary):
            return Window()
        return Window(pinned=summary, cut=cut)

    def _conversation(
        self, agent: StoredAgent, parts: AgentParts, window: Window, messages: Sequence[Message]
    ) -> LoadedConversation:
        """The head of the fork's conversation, its new system message, and the copied rows with new ids."""
        system_id = self._records.ids.new("message")
        rows, ids, last = list[Message](), dict[str, str](), system_id
        for one in messages:
            ids[one.id] = last = self._records.ids.new("message", after=last)
            rows.append(one.model_copy(update={"id": last, "agent_id": agent.id, **_ELSEWHERE}))
        cut = ids.get(window.cut or "", system_id)
        head = Head(
            id=agent.id,
            agent_id=agent.id,
            window=Window(pinned=[system_id, *(ids[one] for one in window.pinned)], cut=cut),
            version=1,
            last_message=last,
            newest=[system_id, *ids.values()][-NEWEST:],
            messages=1 + len(rows),
            created_at=agent.created_at,
        )
        in_window = sum(row.id > cut for row in rows) + len(head.window.pinned)
        compiled = self._prompts.compiled(agent, head, blocks=parts.blocks, in_window=in_window)
        system = system_row(system_id, agent, compiled, agent.created_at)
        return LoadedConversation(head.model_copy(update={"compiled": compiled.source}), (system, *rows))


_ELSEWHERE = {"conversation_id": None, "run_id": None, "step_id": None, "group_id": None, "batch_item_id": None}
"""What a copied row has no more: the run, the step and the conversation of its original."""
