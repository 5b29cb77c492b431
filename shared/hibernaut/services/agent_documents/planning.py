"""Plans the import of an agent file: validates all of it, repairs what can be repaired, and gives every record its id. Writes
nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from hibernaut.domain.agent_files.documents import checked_document, texts
from hibernaut.domain.agent_files.parts import block, read_as, skills
from hibernaut.domain.files.file_texts import LONGEST_NAME, chosen_name, free_name, lines_of, parts_of, plain_name
from hibernaut.ports.model import Models
from hibernaut.schemas.agents.agent_file import ImportOptions
from hibernaut.schemas.agents.staged_import import StagedAgent, StagedImport
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.block import CreateBlock, StoredBlock
from hibernaut.schemas.memory.file import FileStatus, OpenFile, StoredFile, TextPart
from hibernaut.schemas.memory.folder import CreateFolder, StoredFolder
from hibernaut.schemas.messages.message import Message
from hibernaut.services.agent_documents.import_models import ImportModels
from hibernaut.services.agent_documents.imported_packages import ImportedPackages
from hibernaut.services.agent_documents.kept_ids import KeptIds
from hibernaut.services.agent_documents.planned_agents import AgentPlanning, PlannedParts
from hibernaut.services.agent_documents.planned_extension import ExtensionPlanning
from hibernaut.services.agent_documents.planned_groups import GroupPlanning
from hibernaut.services.agent_documents.planned_tools import ToolPlanning
from hibernaut.services.agents.agent_parts import new_block
from hibernaut.services.imports.import_lines import line_of
from hibernaut.services.records import Records
from hibernaut.services.tools.tool_packages import ToolPackages

PLAIN = "text/plain"
"""The media type of files for which the agent file names none."""


@immutable
class PlannedImport:
    """A planned import: its records, the lines that follow them (`services.imports.import_lines`), and the ids of all agents of
    the file.
    """

    staged: StagedImport
    lines: list[bytes]
    agent_ids: list[str]


class ImportPlanning:
    """Plans one import."""

    def __init__(
        self,
        records: Records,
        models: Models,
        options: ImportOptions,
        kept_ids: KeptIds,
        packages: ToolPackages,
        *,
        user: str | None,
    ) -> None:
        notes = kept_ids.notes
        self._kept = kept_ids
        self._records = records
        self._options = options
        self._notes = notes
        self._user = user
        self._models = ImportModels(models, notes, options.model, options.embedding)
        self._now: datetime = records.clock.now()
        self._tools = ToolPlanning(
            records,
            kept_ids,
            ImportedPackages(packages, notes),
            now=self._now,
            user=user,
            override=options.override_existing_tools,
        )

    def planned(self, value: Json) -> PlannedImport:
        """The plan for a document. Raises: InvalidArgument (the document, a name), NotFound (a handle of the options)."""
        document = checked_document(value, self._notes, without_agents=self._kept.enabled)
        agent_ids = [str(raw["id"]) for raw in document["agents"]]
        self._kept.settle(document)
        for entry in document["mcp_servers"]:
            self._notes.add(
                "left_out",
                "mcp_servers",
                str(entry["id"]),
                "MCP servers were left out. Add them under their names, and their tools can be called.",
            )
        tools, tool_ids = self._tools.planned(document["tools"])
        folders = {str(raw["id"]): self._folder(raw) for raw in document["sources"]}
        files, file_texts = self._files(document["files"], folders)
        blocks, block_ids = self._blocks(document)
        folder_ids = {local: folder.id for local, folder in folders.items()}
        parts = PlannedParts(block_ids, tool_ids, folder_ids, self._named_tools)
        planning = AgentPlanning(self._records.ids, self._now, self._user, self._options, self._models, self._kept)
        agents = {str(raw["id"]): planning.agent(raw, parts) for raw in document["agents"]}
        groups = GroupPlanning(self._kept, self._notes, agents, block_ids, self._options.project_id)
        staged = StagedImport(
            groups=groups.groups(document["groups"]),
            agents=list(agents.values()),
            blocks=blocks,
            tools=tools,
            folders=list(folders.values()),
            files=list(files.values()),
            skills=skills(document["skills"], self._notes),
            override_tools=self._options.override_existing_tools,
            reserved=[one.agent.id for local, one in agents.items() if one.agent.id == local],
        )
        lines: list[bytes] = []

        def keep(row: Message) -> None:
            lines.append(line_of(row))

        for raw, agent in zip(document["agents"], staged.agents, strict=True):
            planning.log(raw, agent, agent.agent, keep)
            self._desk(raw, agent, {**self._kept.files, **files})
        extension = ExtensionPlanning(self._records, planning, self._models, self._options).planned(document, agents, block_ids)
        staged.archives, staged.identities = extension.archives, extension.identities
        staged.blocks += extension.blocks
        ids = [agents[one].agent.id if one in agents else one for one in agent_ids]
        return PlannedImport(staged, [*lines, *extension.messages, *file_texts, *extension.passages], ids)

    def _named_tools(self, names: list[str]) -> Mapping[str, str]:
        return {name: found.id for name, found in self._records.tools.by_name(names).items()}

    def _blocks(self, document: JsonObject) -> tuple[list[StoredBlock], dict[str, str]]:
        """The blocks, and their ids by those of the file. The labels of one agent's blocks differ."""
        entries = {str(raw["id"]): raw for raw in document["blocks"]}
        neighbours: dict[str, set[str]] = {}
        for agent in document["agents"]:
            inline = _inline_blocks(agent)
            entries |= inline
            agent["block_ids"] = [*texts(agent.get("block_ids")), *inline]
            for one in agent["block_ids"]:
                neighbours.setdefault(one, set()).update(agent["block_ids"])
        blocks: dict[str, StoredBlock] = {}
        for local, raw in entries.items():
            labels = {str(blocks[other].label) for other in neighbours.get(local, ()) if other in blocks}
            blocks[local] = new_block(self._kept.of("block", local), block(raw, local, labels, self._notes), self._now)
            if raw.get("description") is None:
                blocks[local].description = None  # only a new agent's block has a default description
        return list(blocks.values()), {local: one.id for local, one in blocks.items()}

    def _folder(self, raw: JsonObject) -> StoredFolder:
        local = str(raw["id"])
        fields = {name: raw.get(name) for name in ("description", "instructions", "metadata")}
        fields["metadata"] = raw.get("metadata", raw.get("metadata_"))
        request = read_as(CreateFolder, {"name": _folder_name(raw.get("name")), **fields}, local)
        return StoredFolder(
            id=self._kept.of("source", local),
            name=request.name,
            description=request.description,
            instructions=request.instructions,
            metadata=request.metadata,
            embedding_config=self._models.embedding_config(raw, local),
            created_by_id=self._user,
            last_updated_by_id=self._user,
            created_at=self._now,
            updated_at=self._now,
        )

    def _files(self, raw: Sequence[JsonObject], folders: Mapping[str, StoredFolder]) -> tuple[dict[str, StoredFile], list[bytes]]:
        """The files by their ids in the file, and their texts as lines."""
        files: dict[str, StoredFile] = {}
        lines: list[bytes] = []
        names: dict[str, set[str]] = {}
        for entry in raw:
            if entry["id"] in self._kept.files:
                continue
            local, folder, text = str(entry["id"]), folders.get(str(entry.get("source_id"))), entry.get("content")
            if folder is None or not isinstance(text, str):
                subject = "Files without a folder in the file" if folder is None else "Files without their text"
                self._notes.add("left_out", "file", local, f"{subject} were left out.")
                continue
            original = _file_name(entry)
            folder_names = names.setdefault(folder.id, set())
            name = free_name(original, folder_names)
            folder_names.add(name)
            files[local] = self._file(entry, folder.id, name, text)
            lines.append(json.dumps(text).encode())
        return files, lines

    def _file(self, raw: JsonObject, folder_id: str, name: str, text: str) -> StoredFile:
        kind, size = raw.get("file_type"), raw.get("file_size")
        first, parts = 1, []
        for part in parts_of(text):
            parts.append(TextPart(first_line=first, characters=len(part)))
            first += part.count("\n")
        return StoredFile(
            id=self._kept.of("file", str(raw["id"])),
            folder_id=folder_id,
            name=name,
            original_name=_file_name(raw),
            media_type=kind if isinstance(kind, str) and kind else PLAIN,
            size=size if isinstance(size, int) and 0 <= size < 2**63 else len(text.encode("utf-8", "replace")),
            status=FileStatus.PARSING,
            parts=parts,
            readable=True,
            lines=len(lines_of(text)),
            characters=len(text),
            created_at=self._now,
            updated_at=self._now,
        )

    def _desk(self, raw: JsonObject, agent: StagedAgent, files: Mapping[str, StoredFile]) -> None:
        """Which files the agent has open, up to its limit; the others count as closed by it."""
        attached = raw.get("files_agents")
        for entry in attached if isinstance(attached, list) else []:
            file = files.get(str(entry.get("file_id"))) if isinstance(entry, dict) else None
            if file is None:
                self._notes.add("left_out", "open_file", agent.agent.id, "Open files that are not in the file were left out.")
            elif entry.get("is_open") and len(agent.open_files) < (agent.agent.max_files_open or 0):
                agent.open_files[file.id] = _opened(entry, self._now)
            else:
                agent.closed_files[file.id] = self._now


def _inline_blocks(agent: JsonObject) -> dict[str, JsonObject]:
    """The blocks that stand within an agent, by ids of their own. Raises: InvalidArgument."""
    inline = agent.get("memory_blocks")
    entries = inline if isinstance(inline, list) else []
    read = [read_as(CreateBlock, raw, str(agent["id"])).model_dump() for raw in entries]
    return {f"{agent['id']}.memory_blocks[{at}]": raw for at, raw in enumerate(read)}


def _opened(entry: JsonObject, now: datetime) -> OpenFile:
    first, last = entry.get("start_line"), entry.get("end_line")
    if not isinstance(first, int) or first < 1:
        return OpenFile(accessed=now)
    return OpenFile(start=first - 1, length=last - first + 1 if isinstance(last, int) and last >= first else None, accessed=now)


def _folder_name(raw: Json) -> str:
    """The name without control characters, cut to the longest name."""
    plain = "".join(one for one in raw if ord(one) >= 0x20).strip() if isinstance(raw, str) else ""
    return plain.encode("utf-8", "replace")[:LONGEST_NAME].decode("utf-8", "ignore").strip() or "folder"


def _file_name(entry: JsonObject) -> str:
    # V1's `file_name` begins with the name of the folder; `original_file_name` is as its sender chose it.
    for raw, read in ((entry.get("original_file_name"), chosen_name), (entry.get("file_name"), plain_name)):
        try:
            if isinstance(raw, str):
                return read(raw)
        except InvalidArgument:
            continue
    return "file.txt"
