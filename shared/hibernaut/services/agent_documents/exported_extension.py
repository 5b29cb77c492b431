"""Exports what V1's files have no place for: archives with their passages, identities, and further conversations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hibernaut.domain.agent_files.exported import LocalIds, exported_block, exported_message
from hibernaut.domain.agent_files.extension import (
    exported_archive,
    exported_conversation,
    exported_identity,
    exported_passage,
)
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.agents.agent_file import ExportAgentRequest
from hibernaut.schemas.agents.conversation_record import StoredConversation
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.messages.message import Message
from hibernaut.services.records import Records
from hibernaut.store.memory.passages import PassageStore
from hibernaut.store.table.lists.logs import IdRange

AT_ONCE = 200
"""Passages, or records of conversations, of one read."""
ReadLog = Callable[[StoredAgent, ExportAgentRequest], tuple[Sequence[Message], Sequence[str]]]
"""The messages of a conversation to export, and the ids of those in the window."""


class ExtensionExports:
    """Exports the extension of a file. `read`: reads a conversation as the agents' own are read."""

    def __init__(self, records: Records, passages: PassageStore, read: ReadLog) -> None:
        self._records = records
        self._passages = passages
        self._read = read

    def export(
        self,
        agents: Sequence[StoredAgent],
        local_agents: LocalIds,
        blocks: LocalIds,
        messages: LocalIds,
        request: ExportAgentRequest,
    ) -> JsonObject:
        """The extension; empty if the request wants no part of it, or there is nothing. `local_agents`, `blocks`, `messages`: the
        local ids of the file.
        """
        archives, identities = LocalIds("archive"), LocalIds("identity")
        extension: JsonObject = {"archives": [], "identities": [], "agents": {}}
        for agent in agents:
            own: JsonObject = {}
            if request.exports("passages"):
                own["archive_ids"] = [
                    self._archive(one, archives, extension) for one in self._records.archives.of_agent(agent.id)
                ]
                own["archive_ids"] = [one for one in own["archive_ids"] if one is not None]
            if request.exports("identities"):
                own["identity_ids"] = self._identities(agent, identities, extension)
            if request.exports("conversations"):
                local = local_agents.of(agent.id)
                own["conversations"] = [
                    self._conversation(agent, record, local, blocks, messages) for record in self._conversations(agent.id)
                ]
            extension["agents"][local_agents.of(agent.id)] = {name: one for name, one in own.items() if one}
        extension["agents"] = {local: own for local, own in extension["agents"].items() if own}
        return {name: one for name, one in extension.items() if one}

    def _archive(self, archive_id: str, archives: LocalIds, extension: JsonObject) -> str | None:
        """The local id of an archive, which is added to the file at its first agent; None if it is deleted."""
        if (local_id := archives.get(archive_id)) is not None:
            return local_id
        archive = self._records.archives.get(archive_id)
        if archive is None:
            return None
        fields = exported_archive(archive, archives.of(archive_id))
        walk = self._passages.merged([archive_id], IdRange(), first=AT_ONCE)
        extension["archives"].append({**fields, "passages": [exported_passage(passage) for passage in walk]})
        return archives.of(archive_id)

    def _identities(self, agent: StoredAgent, local_ids: LocalIds, extension: JsonObject) -> list[str]:
        found = self._records.identities.get_many(agent.identity_ids)
        for one in agent.identity_ids:
            if one in found and local_ids.get(one) is None:
                extension["identities"].append(exported_identity(found[one], local_ids.of(one)))
        return local_ids.known(agent.identity_ids)

    def _conversations(self, agent_id: str) -> list[StoredConversation]:
        found: list[StoredConversation] = []
        for ids in self._records.conversation_records.pages(agent_id, AT_ONCE):
            records = self._records.conversation_records.get_many(ids)
            found += [records[one] for one in ids if one in records]
        return found

    def _conversation(
        self, agent: StoredAgent, record: StoredConversation, local: str, blocks: LocalIds, messages: LocalIds
    ) -> JsonObject:
        rows, in_context = self._read(agent, ExportAgentRequest(conversation_id=record.id, full_history=True))
        exported = [exported_message(row, local, messages) for row in rows]
        copies = self._records.blocks.get_many(record.isolated_block_ids) if record.isolated_block_ids else {}
        isolated = [
            {"block_id": blocks.of(block_id), "block": exported_block(copies[copy], "") if copy in copies else None}
            for block_id, copy in record.isolated.items()
            if blocks.get(block_id) is not None
        ]
        return exported_conversation(record, exported, messages.known(in_context), isolated)
