"""Plans the extension of V1's files: archives with their passages, identities, and further conversations
(`domain.agent_files.extension`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hibernaut.domain.agent_files.documents import texts
from hibernaut.domain.agent_files.extension import checked_extension
from hibernaut.domain.agent_files.parts import block, read_as
from hibernaut.domain.search.passage_texts import checked
from hibernaut.schemas.agents.agent_file import ImportOptions
from hibernaut.schemas.agents.conversation_record import CreateConversation, StoredConversation
from hibernaut.schemas.agents.identity import CreateIdentity, StoredIdentity
from hibernaut.schemas.agents.staged_import import StagedAgent, StagedArchive, StagedConversation
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.ids import as_of, order_of
from hibernaut.schemas.memory.block import StoredBlock
from hibernaut.schemas.memory.passage import CreateArchive, CreatePassage, Passage, StoredArchive
from hibernaut.schemas.messages.message import Message
from hibernaut.services.agent_documents.import_models import ImportModels
from hibernaut.services.agent_documents.planned_agents import AgentPlanning
from hibernaut.services.agents.agent_parts import new_block
from hibernaut.services.imports.import_lines import line_of
from hibernaut.services.records import Records


@dataclass(slots=True)
class PlannedExtension:
    """The records of an extension, and its lines: those of messages, and those of passages. `blocks`: private blocks of
    conversations.
    """

    archives: list[StagedArchive] = field(default_factory=list)
    identities: list[StoredIdentity] = field(default_factory=list)
    blocks: list[StoredBlock] = field(default_factory=list)
    messages: list[bytes] = field(default_factory=list)
    passages: list[bytes] = field(default_factory=list)


class ExtensionPlanning:
    """Plans the extension of one file, after its agents and blocks."""

    def __init__(self, records: Records, planning: AgentPlanning, models: ImportModels, options: ImportOptions) -> None:
        self._ids = records.ids
        self._known = records.identities
        self._planning = planning
        self._models = models
        self._options = options
        self._made = PlannedExtension()

    def planned(self, document: JsonObject, agents: Mapping[str, StagedAgent], blocks: Mapping[str, str]) -> PlannedExtension:
        """The plan. `agents`, `blocks`: those of the file by their ids in it; the plan sets their archives, identities and
        conversations on them. Raises: InvalidArgument.
        """
        extension = checked_extension(document)
        own_parts = {local: own for local, own in extension["agents"].items() if local in agents}
        used_ids = {one for own in own_parts.values() for name in ("archive_ids", "identity_ids") for one in texts(own.get(name))}
        archives = {str(raw["id"]): self._archive(raw) for raw in extension["archives"] if raw["id"] in used_ids}
        identities = {str(raw["id"]): self._identity(raw) for raw in extension["identities"] if raw["id"] in used_ids}
        self._made.archives = list(archives.values())
        self._made.identities = list({one.id: one for one in identities.values()}.values())
        for local, own in own_parts.items():
            staged = agents[local]
            staged.archive_ids = [archives[one].archive.id for one in texts(own.get("archive_ids")) if one in archives]
            found = [identities[one].id for one in texts(own.get("identity_ids")) if one in identities]
            staged.agent.identity_ids = list(dict.fromkeys(found))
            if not self._options.strip_messages:
                staged.conversations = [self._conversation(raw, staged, blocks) for raw in own["conversations"]]
        return self._made

    def _archive(self, raw: JsonObject) -> StagedArchive:
        local, now = str(raw["id"]), self._planning.now
        fields = {"name": raw.get("name") or "archive", "description": raw.get("description")}
        request = read_as(CreateArchive, fields, local)
        metadata = raw.get("metadata")
        archive = StoredArchive(
            id=self._ids.new("archive"),
            name=request.name,
            description=request.description,
            metadata=metadata if isinstance(metadata, dict) else None,
            embedding_config=self._models.embedding_config(raw, local),
            created_at=now,
            updated_at=now,
            created_by_id=self._planning.user,
            last_updated_by_id=self._planning.user,
        )
        last, number = "", 0
        for index, entry in enumerate(raw["passages"]):
            passage = self._passage(entry, f"{local}.passages[{index}]", last)
            if passage is not None:
                self._made.passages.append(line_of(passage))
                last, number = passage.id, number + 1
        return StagedArchive(archive=archive, passages=number)

    def _passage(self, raw: JsonObject, place: str, last: str) -> Passage | None:
        """A passage whose id sorts behind `last` if it was made in the same millisecond; None if it has no text."""
        try:
            request = read_as(CreatePassage, raw, place)
            text, tags = checked(request.text, request.tags)
        except InvalidArgument:
            self._planning.notes.add("left_out", "passage", place, "Passages without a text that can be stored were left out.")
            return None
        at = request.created_at or self._planning.now
        return Passage(
            id=_behind(as_of(self._ids.new("passage"), at), last),
            text=text,
            metadata=request.metadata or {},
            tags=tags,
            created_at=at,
            updated_at=self._planning.now,
            created_by_id=self._planning.user,
            last_updated_by_id=self._planning.user,
        )

    def _identity(self, raw: JsonObject) -> StoredIdentity:
        names = ("identifier_key", "name", "identity_type", "properties")
        request = read_as(CreateIdentity, {name: raw[name] for name in names if raw.get(name) is not None}, str(raw["id"]))
        if self._known.with_key(request.identifier_key, self._options.project_id) is not None:
            text = "Identities whose keys are known here stay as they are; the agents belong to them."
            self._planning.notes.add("replaced", "identity_exists", str(raw["id"]), text)
        return StoredIdentity(
            id=self._ids.new("identity"),
            identifier_key=request.identifier_key,
            name=request.name,
            identity_type=request.identity_type,
            project_id=self._options.project_id,
            properties=[one.model_dump() for one in request.properties or ()],
            created_at=self._planning.now,
            updated_at=self._planning.now,
        )

    def _conversation(self, raw: JsonObject, staged: StagedAgent, blocks: Mapping[str, str]) -> StagedConversation:
        place, agent = f"{staged.agent.name[:100]}.conversation", staged.agent
        fields = {name: raw.get(name) for name in CreateConversation.model_fields if name != "isolated_block_labels"}
        request = read_as(CreateConversation, {**fields, "hidden": bool(raw.get("hidden"))}, place)
        if request.model is not None and not self._models.serves(request.model):
            text = "Models of conversations that are not served here were left out; the agent's applies."
            self._planning.notes.add("replaced", "conversation_model", place, text)
            request = request.model_copy(update={"model": None, "model_settings": None, "context_window_limit": None})
        now = self._planning.now
        bare = {"id": "", "agent_id": "", "created_at": now, "updated_at": now}
        times = read_as(StoredConversation, {**bare, **_times(raw)}, place)
        conversation_id = self._planning.kept.of("conv", str(raw.get("id")))
        record = StoredConversation(
            **{name: getattr(request, name) for name in fields},
            id=conversation_id,
            agent_id=agent.id,
            archived=raw.get("archived") is True,
            archived_at=times.archived_at,
            created_at=times.created_at,
            updated_at=now,
            created_by_id=self._planning.user,
            last_updated_by_id=self._planning.user,
            isolated=self._isolated(raw.get("isolated_blocks"), blocks),
        )
        staged_conversation = StagedConversation(record=record, system_id=self._ids.new("message"))

        def keep(row: Message) -> None:
            row.conversation_id = conversation_id
            staged_conversation.sent = row.created_at
            self._made.messages.append(line_of(row))

        self._planning.log(raw, staged_conversation, agent, keep)
        return staged_conversation

    def _isolated(self, raw: Json, blocks: Mapping[str, str]) -> dict[str, str]:
        """The new private blocks by the new ids of the agent's blocks that they replace; "" where the conversation has none."""
        found: dict[str, str] = {}
        entries: Sequence[Any] = raw if isinstance(raw, list) else ()
        for entry in entries:
            original = blocks.get(str(entry.get("block_id"))) if isinstance(entry, dict) else None
            if original is None:
                continue
            own = entry.get("block")
            if isinstance(own, dict):
                block_id = self._planning.kept.of("block", str(own.get("id")))
                copy = new_block(block_id, block(own, "isolated block", (), self._planning.notes), self._planning.now)
                copy.description = own.get("description") if isinstance(own.get("description"), str) else None
                self._made.blocks.append(copy)
                found[original] = copy.id
            else:
                found[original] = ""
        return found


def _times(raw: JsonObject) -> JsonObject:
    return {name: raw[name] for name in ("created_at", "archived_at") if raw.get(name) is not None}


def _behind(passage_id: str, last: str) -> str:
    """The id with a counter that sorts behind `last`, if both are of one millisecond."""
    if not last or passage_id > last:
        return passage_id
    milliseconds, counter = order_of(last)
    if order_of(passage_id)[0] < milliseconds:
        return passage_id
    return f"{passage_id[:-21]}{min(counter + 1, 0xFFF):03x}{passage_id[-18:]}"
