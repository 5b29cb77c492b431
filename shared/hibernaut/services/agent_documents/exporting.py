"""Exports an agent as an agent file: its settings, messages, blocks, tools, folders with their files, and skills (RT 12.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hibernaut import __version__
from hibernaut.domain.agent_files.exported import (
    LocalIds,
    exported_agent,
    exported_block,
    exported_desk,
    exported_file,
    exported_folder,
    exported_group,
    exported_message,
    exported_tool,
)
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.agents.agent_file import AgentFileSchema, ExportAgentRequest
from hibernaut.schemas.agents.group import StoredGroup
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.messages.message import Message
from hibernaut.services.agent_documents.exported_extension import ExtensionExports
from hibernaut.services.prompt.file_views import FileViews
from hibernaut.services.records import Records, no_conversation
from hibernaut.store.conversations.conversations import LoadedConversation
from hibernaut.store.memory.passages import PassageStore
from hibernaut.store.templates.imports import ImportStore


@dataclass(slots=True)
class _Numbers:
    """The local ids of one file."""

    agents: LocalIds = field(default_factory=lambda: LocalIds("agent"))
    blocks: LocalIds = field(default_factory=lambda: LocalIds("block"))
    tools: LocalIds = field(default_factory=lambda: LocalIds("tool"))
    sources: LocalIds = field(default_factory=lambda: LocalIds("source"))
    files: LocalIds = field(default_factory=lambda: LocalIds("file"))
    groups: LocalIds = field(default_factory=lambda: LocalIds("group"))
    messages: LocalIds = field(default_factory=lambda: LocalIds("message"))


class AgentExports:
    """Exports agents."""

    def __init__(self, records: Records, imports: ImportStore, views: FileViews, passages: PassageStore) -> None:
        self._extension = ExtensionExports(records, passages, self._messages)
        self._records = records
        self._imports = imports
        self._views = views

    def export(self, agent_id: str, request: ExportAgentRequest) -> AgentFileSchema:
        """The file of an agent, and of the agents of the groups that it manages. Raises: NotFound (the agent, the conversation),
        OSError.
        """
        main, numbers = self._records.agent(agent_id), _Numbers()
        groups = list(self._records.groups.get_many(self._records.groups.managed_by(agent_id)).values())
        agents = self._together(main, groups)
        for agent in agents:
            numbers.agents.of(agent.id)
        document = AgentFileSchema(
            agents=[],
            blocks=self._blocks(agents, groups, numbers),
            tools=self._tools(agents, numbers),
            skills=self._skills(agent_id, request),
            metadata={"exporter": "hibernaut", "exporter_version": __version__},
            created_at=self._records.clock.now(),
        )
        for group in sorted(groups, key=lambda one: one.id):
            document.groups.append(exported_group(group, numbers.groups.of(group.id), numbers.agents, numbers.blocks))
        for agent in agents:
            own_request = request if agent is main else request.model_copy(update={"conversation_id": None})
            document.agents.append(self._agent(agent, own_request, groups, numbers, document))
        document.hibernaut = self._extension.export(agents, numbers.agents, numbers.blocks, numbers.messages, request)
        return document

    def _together(self, main: StoredAgent, groups: Sequence[StoredGroup]) -> list[StoredAgent]:
        """The agent, and the existing agents of its groups."""
        ids = dict.fromkeys(one for group in groups for one in group.agent_ids if one != main.id)
        found = self._records.agents.get_many(list(ids)) if ids else {}
        return [main, *(found[one] for one in ids if one in found)]

    def _blocks(self, agents: Sequence[StoredAgent], groups: Sequence[StoredGroup], numbers: _Numbers) -> list[JsonObject]:
        ids = [one for agent in agents for one in agent.block_ids] + [one for group in groups for one in group.shared_block_ids]
        found = self._records.blocks.get_many(list(dict.fromkeys(ids))).values() if ids else ()
        blocks = sorted(found, key=lambda block: (block.label or "", block.id))
        return [exported_block(block, numbers.blocks.of(block.id)) for block in blocks]

    def _tools(self, agents: Sequence[StoredAgent], numbers: _Numbers) -> list[JsonObject]:
        ids = list(dict.fromkeys(one for agent in agents for one in agent.tool_ids))
        found = self._records.tools.get_many(ids).values() if ids else ()
        tools = sorted(found, key=lambda tool: (tool.name or "", tool.id))
        return [exported_tool(tool, numbers.tools.of(tool.id)) for tool in tools]

    def _agent(
        self,
        agent: StoredAgent,
        request: ExportAgentRequest,
        groups: Sequence[StoredGroup],
        numbers: _Numbers,
        document: AgentFileSchema,
    ) -> JsonObject:
        local = numbers.agents.of(agent.id)
        own = [group.id for group in groups if agent.id in (group.manager_agent_id, *group.agent_ids)]
        files_agents = self._folders(agent, local, numbers, document)
        rows, in_context = self._messages(agent, request)
        messages = [exported_message(row, local, numbers.messages) for row in rows]
        return {
            "id": local,
            **exported_agent(agent),
            "block_ids": numbers.blocks.known(agent.block_ids),
            "tool_ids": numbers.tools.known(agent.tool_ids),
            "source_ids": numbers.sources.known(agent.source_ids),
            "group_ids": numbers.groups.known(own),
            "files_agents": files_agents,
            "in_context_message_ids": numbers.messages.known(in_context),
            "messages": messages,
        }

    def _messages(self, agent: StoredAgent, request: ExportAgentRequest) -> tuple[Sequence[Message], Sequence[str]]:
        """The messages to export, and the ids of those in the window. Raises: NotFound."""
        conversation = self._conversation(agent, request.conversation_id)
        if request.scrub_messages:
            return [], []
        in_context = [row.id for row in conversation.messages]
        if not request.full_history:
            return conversation.messages, in_context
        system = conversation.messages[0]
        rows = [row for row in self._records.conversations.page(conversation.head.id) if row.id != system.id]
        return [system, *rows], in_context

    def _conversation(self, agent: StoredAgent, conversation_id: str | None) -> LoadedConversation:
        head_id = conversation_id if conversation_id not in (None, "default") else agent.id
        head = self._records.conversations.head(str(head_id))
        if head is None or head.agent_id != agent.id:
            raise no_conversation(str(head_id))
        conversation = self._records.conversations.load(head.id, head)
        if conversation is None:
            raise no_conversation(str(head_id))
        return conversation

    def _skills(self, agent_id: str, request: ExportAgentRequest) -> list[JsonObject]:
        """The skills of the request, then the agent's imported skills that the request does not replace."""
        replacing = {skill.name: skill for skill in request.skills}
        imported = [skill for skill in self._imports.skills(agent_id).skills if skill.name not in replacing]
        return [skill.model_dump(mode="json") for skill in (*replacing.values(), *imported)]

    def _folders(self, agent: StoredAgent, local: str, numbers: _Numbers, document: AgentFileSchema) -> list[JsonObject]:
        """Add the agent's folders and their files to the document; returns the entries of its desk."""
        if not agent.source_ids:
            return []
        found = self._records.folders.get_many(agent.source_ids)
        attached: list[tuple[str, str, str, str]] = []
        for folder in (found[one] for one in agent.source_ids if one in found):
            local_source = numbers.sources.get(folder.id)
            source = numbers.sources.of(folder.id)
            if local_source is None:
                document.sources.append(exported_folder(folder, source))
            rows = self._records.files.rows(folder.id)
            files = self._records.files.get_many([row.file_id for row in rows])
            for file in (files[row.file_id] for row in rows if row.file_id in files):
                content = self._views.content(file) if local_source is None else None
                if content is not None:
                    document.files.append(exported_file(file, numbers.files.of(file.id), source, content))
                if (local_id := numbers.files.get(file.id)) is not None:
                    attached.append((file.id, local_id, source, file.name))
        return exported_desk(local, self._records.files.desk(agent.id), attached)
