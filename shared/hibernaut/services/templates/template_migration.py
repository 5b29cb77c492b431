"""Migrates the agents of a template to a version: settings, tools, blocks, variables and folders (Letta V1 API, digest 2.17).

The version is imported once as hidden prototypes, so that tools, models and folders are resolved as for new agents. Each agent of the template takes over
what its prototype has. The prototypes are deleted at the end, and those that a dead worker has left by a later migration. Messages stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from datetime import timedelta

from hibernaut.schemas.agents.agent import StoredAgent, UpdateAgent
from hibernaut.schemas.agents.agent_file import ImportOptions
from hibernaut.schemas.agents.template import SaveTemplate, StoredTemplate
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.memory.block import BlockUpdate, CreateBlock, StoredBlock
from hibernaut.services.agent_documents.agent_documents import AgentDocuments
from hibernaut.services.agents.agents import Agents
from hibernaut.services.memory.blocks import Blocks
from hibernaut.services.records import Records

LEFT_BEHIND = timedelta(hours=1)
"""The age from which a prototype belongs to a worker that is dead."""
_TAKEN_OVER = (
    "system",
    "tool_rules",
    "llm_config",
    "explicit_model_settings",
    "compaction_settings",
    "response_format",
    "description",
    "fallback_models",
)


@dataclass(frozen=True, slots=True)
class Prototype:
    """An agent as a version describes it, with its blocks."""

    agent: StoredAgent
    blocks: Sequence[StoredBlock]


class TemplateMigration:
    """Migrates agents."""

    def __init__(self, records: Records, documents: AgentDocuments, agents: Agents, blocks: Blocks) -> None:
        self._records = records
        self._documents = documents
        self._agents = agents
        self._blocks = blocks

    def migrate(self, template: StoredTemplate, document: JsonObject, how: SaveTemplate, *, user: str | None) -> None:
        """Migrate every agent of a template. Raises: InvalidArgument (the file), Conflict."""
        agents = self._records.agent_marks.agents_of("BASE", [template.id])[template.id]
        if not agents:
            return
        mark = f"prototype-of:{template.id}"
        self._clear(mark)
        copied = deepcopy(document)
        for each in copied["agents"]:
            each |= {"hidden": True, "tags": [mark]}
        local_ids = [str(each["id"]) for each in copied["agents"]]
        options = ImportOptions(append_copy_suffix=False, override_existing_tools=template.update_existing_tools)
        made = self._documents.import_(copied, options, user=user).agent_ids
        try:
            prototypes = {local: self._prototype(agent_id) for local, agent_id in zip(local_ids, made, strict=True)}
            for agent_id in agents:
                with suppress(NotFound):  # it was deleted meanwhile
                    self._one(agent_id, prototypes, how, user)
        finally:
            for agent_id in made:
                self._discard(agent_id)

    def _prototype(self, agent_id: str) -> Prototype:
        agent = self._records.agent(agent_id)
        return Prototype(agent, self._records.blocks_of(agent))

    def _clear(self, mark: str) -> None:
        """Delete the prototypes that dead workers have left."""
        before = self._records.clock.now() - LEFT_BEHIND
        left = self._records.agents.get_many(self._records.agent_marks.agents_of("TAG", [mark])[mark])
        for agent in left.values():
            if agent.created_at < before:
                self._discard(agent.id)

    def _one(self, agent_id: str, prototypes: Mapping[str, Prototype], how: SaveTemplate, user: str | None) -> None:
        agent = self._records.agent(agent_id)
        found = prototypes.get(agent.entity_id or "")
        if found is None:
            return  # this version has no such agent
        prototype = found.agent
        folders = list(dict.fromkeys([*agent.source_ids, *prototype.source_ids]))
        request = UpdateAgent(
            tool_ids=prototype.tool_ids,
            block_ids=self._memory(agent, found.blocks, how, user),
            folder_ids=folders if how.preserve_sources_on_migration else prototype.source_ids,
            secrets=None if how.preserve_environment_variables_on_migration else prototype.environment(),
        )
        self._agents.updates.update(agent_id, request, user=user)
        taken = {name: getattr(prototype, name) for name in _TAKEN_OVER}
        self._records.change_agent(agent_id, lambda now: (now.model_copy(update=taken), ()), user)
        self._delete_left(agent)

    def _memory(self, agent: StoredAgent, blocks: Sequence[StoredBlock], how: SaveTemplate, user: str | None) -> list[str]:
        """The blocks that the agent has then."""
        held = {str(block.label): block for block in self._records.blocks_of(agent)}
        wanted = {str(block.label): block for block in blocks}
        kept = [
            block.id
            for label, block in held.items()
            if label in wanted or how.block_reconciliation_strategy == "preserve-deleted"
        ]
        for label, block in wanted.items():
            if label not in held:
                kept.append(self._blocks.create(_like(block)).id)
                continue
            changes = {"description": block.description, "limit": block.limit, "read_only": block.read_only}
            if not how.preserve_core_memories_on_migration:
                changes["value"] = block.value
            self._blocks.update(held[label].id, BlockUpdate.model_validate(changes), user=user)
        return kept

    def _delete_left(self, before: StoredAgent) -> None:
        """Delete the blocks that only this agent had, and that it has no more."""
        now = set(self._records.agent(before.id).block_ids)
        for block_id in before.block_ids:
            if block_id not in now and not self._records.blocks.agents_of(block_id):
                with suppress(NotFound):
                    self._blocks.delete(block_id)

    def _discard(self, agent_id: str) -> None:
        with suppress(NotFound):
            prototype = self._records.agent(agent_id)
            self._agents.delete(agent_id)
            for block_id in prototype.block_ids:
                with suppress(NotFound):
                    self._blocks.delete(block_id)


def _like(block: StoredBlock) -> CreateBlock:
    return CreateBlock.model_validate(block.model_dump(include=set(CreateBlock.model_fields)))
