"""What an agent of a template takes over from a version: settings, tools, blocks, variables and folders (Letta V1 API, digest
2.17).

The version is imported once as hidden prototypes, so that tools, models and folders are resolved as for new agents. Each agent of
the template takes over what its prototype has. Messages stay. Every step can be repeated. Must not know in which order, or how
many times, agents are changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy

from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.schemas.agents.agent import StoredAgent, UpdateAgent
from hibernaut.schemas.agents.agent_file import ImportOptions
from hibernaut.schemas.agents.template import SaveTemplate, StoredTemplate
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.ids import compose, order_of
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.block import BlockUpdate, CreateBlock, StoredBlock
from hibernaut.services.agent_documents.agent_documents import AgentDocuments
from hibernaut.services.agents.agent_parts import new_block
from hibernaut.services.agents.agents import Agents
from hibernaut.services.memory.blocks import Blocks
from hibernaut.services.records import Records, by_key

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


@immutable
class Prototype:
    """An agent as a version describes it, with its blocks."""

    agent: StoredAgent
    blocks: Sequence[StoredBlock]


@immutable
class MigrationChoice:
    """The author of a migration, and its options."""

    how: SaveTemplate
    user: str | None
    key_id: str | None


class TemplatePrototypes:
    """Makes prototypes, changes agents after them, and deletes them."""

    def __init__(self, records: Records, documents: AgentDocuments, agents: Agents, blocks: Blocks) -> None:
        self._records = records
        self._documents = documents
        self._agents = agents
        self._blocks = blocks

    def make(self, template: StoredTemplate, document: JsonObject, by: MigrationChoice, name: str) -> dict[str, str]:
        """Import the prototypes of a version; returns their ids by those of the document. `name`: that of the migration. A
        repeated attempt finds the prototypes of the first one; those of other migrations are deleted. Raises: InvalidArgument
        (the file), ImportContinues.
        """
        digest = hashlib.sha256(name.encode()).hexdigest()
        local_ids = [str(each["id"]) for each in document["agents"]]
        if (earlier := self._documents.repeated(digest)) is not None:
            return dict(zip(local_ids, earlier.agent_ids, strict=True))
        self.discard(template.id)
        copied = deepcopy(document)
        for each in copied["agents"]:
            each |= {"hidden": True, "tags": [_mark(template.id)]}
        options = ImportOptions(append_copy_suffix=False, override_existing_tools=template.update_existing_tools)
        agent_ids = self._documents.import_(copied, options, user=by.user, key_id=by.key_id, digest=digest).agent_ids
        return dict(zip(local_ids, agent_ids, strict=True))

    def read(self, prototypes: Mapping[str, str]) -> dict[str, Prototype]:
        """The prototypes with their blocks. Raises: NotFound if one was deleted."""
        found = {local: self._records.agent(agent_id) for local, agent_id in prototypes.items()}
        return {local: Prototype(agent, self._records.blocks_of(agent)) for local, agent in found.items()}

    def discard(self, template_id: str) -> None:
        """Delete all prototypes of a template, also those that a dead worker has left. A prototype is deleted after its blocks,
        so that a repeated call finds the rest.
        """
        for agent_id in self._records.agent_marks.agents_of("TAG", [_mark(template_id)])[_mark(template_id)]:
            with suppress(NotFound):
                for block_id in self._records.agent(agent_id).block_ids:
                    with suppress(NotFound):
                        self._blocks.delete(block_id)
                self._agents.delete(agent_id)

    def apply(self, agent_id: str, prototypes: Mapping[str, Prototype], by: MigrationChoice) -> bool:
        """Change an agent after its prototype. Returns False if this version has no such agent. Raises: NotFound,
        InvalidArgument, Conflict.
        """
        agent, options = self._records.agent(agent_id), by.how
        found = prototypes.get(agent.entity_id or "")
        if found is None:
            return False
        prototype = found.agent
        folders = list(dict.fromkeys([*agent.source_ids, *prototype.source_ids]))
        request = UpdateAgent(
            tool_ids=prototype.tool_ids,
            block_ids=self._memory(agent, found.blocks, by),
            folder_ids=folders if options.preserve_sources_on_migration else prototype.source_ids,
            secrets=None
            if options.preserve_environment_variables_on_migration
            else self._records.secrets.values(prototype.id, prototype.secrets),
        )
        self._agents.updates.update(agent_id, request, user=by.user, key_id=by.key_id)
        fields = {name: getattr(prototype, name) for name in _TAKEN_OVER}
        self._records.change_agent(agent_id, lambda now: (now.model_copy(update=fields), ()), by.user, by_key(by.key_id))
        return True

    def _memory(self, agent: StoredAgent, blocks: Sequence[StoredBlock], by: MigrationChoice) -> list[str]:
        """The ids of the agent's blocks after the migration."""
        current = {str(block.label): block for block in self._records.blocks_of(agent)}
        of_version = {str(block.label): block for block in blocks}
        block_ids = [
            block.id
            for label, block in current.items()
            if label in of_version or by.how.block_reconciliation_strategy == "preserve-deleted"
        ]
        for label, block in of_version.items():
            if label not in current:
                block_ids.append(self._copy(block, agent, by))
                continue
            changes = {"description": block.description, "limit": block.limit, "read_only": block.read_only}
            if not by.how.preserve_core_memories_on_migration:
                changes["value"] = block.value
            if any(getattr(current[label], name) != one for name, one in changes.items()):
                request = BlockUpdate.model_validate(changes)
                self._blocks.update(current[label].id, request, user=by.user, key_id=by.key_id)
        return block_ids

    def _copy(self, block: StoredBlock, agent: StoredAgent, by: MigrationChoice) -> str:
        """The id of the agent's copy of a block, which is made unless an earlier attempt has made it."""
        fields = CreateBlock.model_validate(block.model_dump(include=set(CreateBlock.model_fields)))
        copy, token = new_block(_derived(block.id, agent.id), fields, self._records.clock.now()), self._records.ids.token()
        with suppress(ConditionFailed):
            self._records.writer.write(*self._records.blocks.create(copy, token, by_key(by.key_id)), token=token)
        return copy.id

    def delete_left(self, agent_id: str, before: Sequence[str], key_id: str | None) -> None:
        """Delete the blocks that only this agent had `before`, and that it has no more. Raises: NotFound (the agent)."""
        now = set(self._records.agent(agent_id).block_ids)
        for block_id in before:
            if block_id not in now and not self._records.blocks.agents_of(block_id):
                with suppress(NotFound):
                    self._blocks.delete(block_id, key_id=key_id)


def _mark(template_id: str) -> str:
    """The tag of the prototypes of a template."""
    return f"prototype-of:{template_id}"


def _derived(block_id: str, agent_id: str) -> str:
    """The id of an agent's copy of a block: the same at each attempt."""
    digest = hashlib.sha256(f"{block_id} {agent_id}".encode()).digest()
    return compose("block", *order_of(block_id), int.from_bytes(digest[:7]) >> 1)
