"""The migration: moves everything of a source to a target, record by record.

Order: tools, MCP servers, identities, blocks, folders with files, agents with their logs, archives with passages, groups. Each
step may be repeated: the target keeps the ids of the source, so it knows what it has. A migration that was killed therefore goes
on where it was, with its state file or without.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import TypeAdapter

from hibernaut.local.migrating.agent_moves import AgentMoves, mark_of
from hibernaut.local.migrating.api import RequestRefused
from hibernaut.local.migrating.digests import block_fields, digest, passage_digest
from hibernaut.local.migrating.mcp_moves import McpMoves
from hibernaut.local.migrating.report import MigrationReport
from hibernaut.local.migrating.sources.source import MigrationSource, SourceArchive, SourceMcpServer
from hibernaut.local.migrating.state import MigrationState
from hibernaut.local.migrating.target import Target
from hibernaut.local.progress import ProgressReport
from hibernaut.schemas.base import Json, JsonObject, Moment, wire_time
from hibernaut.schemas.ids import as_of, compose, is_id

TOGETHER = 50
"""The largest number of tools, blocks or files in one import."""
LARGEST_DOCUMENT = 3_000_000
"""The size of an import of tools, blocks or files, in characters of JSON, above which another one begins."""
PASSAGES = 500
"""The largest number of passages in one request."""
NO_TEXT = "The source gives no text of the file, so there is nothing to move."
_MOMENT: TypeAdapter[datetime] = TypeAdapter(Moment)


@dataclass(slots=True)
class Migration:
    """One migration."""

    source: MigrationSource
    target: Target
    state: MigrationState
    report: MigrationReport
    progress: ProgressReport
    served: set[str] = field(default_factory=set)
    """The ids of tools with MCP servers on the target."""

    def move(self) -> None:
        """Move everything that is not on the target. Raises: CannotServe if one of both cannot be reached; what was moved
        stays.
        """
        self.target.check()
        steps: list[tuple[str, Callable[[], int]]] = [
            ("tools", lambda: self._together("tools", self.source.tools(), _tool)),
            ("MCP servers", self._mcp_servers),
            ("identities", self._identities),
            ("blocks", lambda: self._together("blocks", self._valid("block", self.source.blocks()), block_fields)),
            ("folders and files", self._folders),
            ("agents", self._agents),
            ("passages", self._archives),
            ("groups", self._groups),
        ]
        for what, step in steps:
            count = step()
            self.progress.line(f"{what}: {count} moved")
        for note in self.source.notes:
            self.report.note("left_out", note.record, note.why)

    # tools, blocks, identities

    def _together(self, kind: str, entries: Iterable[JsonObject], compared: Callable[[JsonObject], Json]) -> int:
        """Move records that are entries of an agent file, many in one import. Returns how many were not moved before."""
        new = (one for one in entries if self.state.moved(kind, str(one["id"])) is None)
        count = 0
        for entry in self._loaded(kind, new, {}):
            self.state.add(kind, str(entry["id"]), digest=digest(compared(entry)), name=entry.get("name") or entry.get("label"))
            count += 1
        return count

    def _loaded(self, kind: str, entries: Iterable[JsonObject], context: JsonObject) -> Iterator[JsonObject]:
        """Import entries, many in one import, with `context` in each; yields the imported ones. A refused entry does not stop the
        others.
        """
        for some in _portions(entries):
            if len(some) > 1 and self._load({kind: some, **context}):
                yield from some
                continue
            for entry in some:
                if self._load({kind: [entry], **context}, str(entry["id"])):
                    yield entry

    def _load(self, document: JsonObject, record: str = "") -> bool:
        """Import a document, and report its notes. Returns whether it is imported. `record`: what is lost if the target refuses
        it; "": another import follows.
        """
        try:
            notes = self.target.load(document)
        except RequestRefused as refused:
            if record:
                self.report.found("lost", record, f"The target refuses it: {refused.detail}")
            return False
        agents = [str(one["id"]) for one in document.get("agents") or ()]
        for note in notes:
            served = note["code"] == "tool_without_server" and note["place"] in self.served
            if note["code"] not in ("agent_exists", "tool_exists") and not served:
                self.report.note(note["kind"], agents[0] if agents else note["place"], note["detail"])
        return True

    def _mcp_servers(self) -> int:
        def load(server: SourceMcpServer) -> None:
            for _ in self._loaded("tools", server.tools, {}):
                pass

        return McpMoves(self.source, self.target, self.state, self.report, load, self.served).move()

    def _valid(self, kind: str, entries: Iterable[JsonObject]) -> Iterator[JsonObject]:
        """The entries with ids that the target can keep."""
        for entry in entries:
            if self._is_valid(kind, str(entry["id"])):
                yield entry

    def _is_valid(self, kind: str, identifier: str) -> bool:
        if is_id(identifier, kind):
            return True
        self.report.found(
            "lost", identifier, f"Its id has not the form {kind}-<uuid4> that V1 gives, so it cannot be moved twice without harm."
        )
        return False

    def _identities(self) -> int:
        count = 0
        for identity in self.source.identities():
            if self.state.moved("identities", identity.id) is None:
                new = self.target.put_identity(identity.fields)
                self.state.add(
                    "identities",
                    identity.id,
                    new=new,
                    digest=digest(_of_identity(identity.fields)),
                    blocks=list(identity.block_ids),
                )
                count += 1
        return count

    # folders

    def _folders(self) -> int:
        count = 0
        for folder in self._valid("source", self.source.folders()):
            folder_id = str(folder["id"])
            if self.state.moved("folders", folder_id) is not None or not self._load({"sources": [folder]}, folder_id):
                continue
            context: JsonObject = {"sources": [folder]}
            moved = self._loaded("files", self._valid("file", self._readable(folder_id)), context)
            files = {str(one["id"]): digest(one["content"]) for one in moved}
            self.state.add("folders", folder_id, files=files, name=folder.get("name"))
            count += 1 + len(files)
        return count

    def _readable(self, folder_id: str) -> Iterator[JsonObject]:
        for file in self.source.files(folder_id):
            if isinstance(file.get("content"), str):
                yield {**file, "source_id": folder_id}
            else:
                self.report.note("left_out", str(file["id"]), NO_TEXT)

    # agents

    def _agents(self) -> int:
        count, of, moves = 0, self.source.agent_count(), AgentMoves(self.source, self.target, self.state, self.report, self._load)
        for number, agent in enumerate(self.source.agents(), 1):
            self.progress.share(number, max(number, of))
            before = self.state.moved("agents", agent.id)
            if before is None:
                count += self._is_valid("agent", agent.id) and moves.move(agent)
            elif before.get("mark") != mark_of(agent):
                self.report.found(
                    "left_out", agent.id, "The agent has changed at the source since it was moved; the changes were not moved."
                )
        return count

    # archives and groups

    def _archives(self) -> int:
        count = 0
        for archive in self.source.archives():
            if self.state.moved("archives", archive.id) is not None or not self._is_valid("archive", archive.id):
                continue
            sent, there = list[JsonObject](), list[JsonObject]()
            try:
                self._make_archive(archive)
                for some in _portions(self.source.passages(archive), PASSAGES):
                    sent += some
                    there += self.target.add_passages(archive.id, [_passage(one) for one in some])
            except RequestRefused as refused:
                self.report.found("lost", archive.id, f"The target refuses the archive or a passage of it: {refused.detail}")
                continue
            if len(there) < len(sent):
                self.report.note(
                    "left_out",
                    archive.id,
                    f"{len(sent) - len(there)} of its passages were deleted on the target; they stay deleted.",
                )
            elif passage_digest(there) != passage_digest(sent):
                self.report.note("differs", archive.id, "The texts of its passages are others on the target.")
            for agent_id in archive.agent_ids:
                if self.target.has("agents", agent_id):
                    self.target.attach("archives", archive.id, to=f"agents/{agent_id}")
            self.state.add("archives", archive.id, name=archive.name, source=len(sent), target=len(there))
            count += len(there)
        return count

    def _make_archive(self, archive: SourceArchive) -> None:
        fields = {"id": archive.id, "name": archive.name, "description": archive.description}
        try:
            self.target.make_archive({**fields, "embedding": archive.embedding} if archive.embedding else fields)
        except RequestRefused as refused:
            if refused.status != 404 or archive.embedding is None:
                raise
            self.target.make_archive(fields)
            self.report.note(
                "replaced", archive.id, f"The embedding {archive.embedding} is not served on the target: it has the default one."
            )

    def _groups(self) -> int:
        count = 0
        for group in self.source.groups():
            group_id = str(group["id"])
            if self.state.moved("groups", group_id) is not None or not self._is_valid("group", group_id):
                continue
            try:
                self.target.make_group(group)
            except RequestRefused as refused:
                self.report.note("left_out", group_id, f"The target refuses the group: {refused.detail}")
                continue
            self.state.add("groups", group_id, agents=list(group["agent_ids"]))
            count += 1
        for identity in self.state.of_kind("identities").values():
            for block_id in identity["blocks"]:
                if self.target.has("blocks", block_id):
                    self.target.attach("identities", identity["new"], to=f"blocks/{block_id}")
        return count


def _portions(entries: Iterable[JsonObject], most: int = TOGETHER) -> Iterator[list[JsonObject]]:
    """The entries, at most `most` and some megabytes together."""
    some, size = list[JsonObject](), 0
    for entry in entries:
        more = len(json.dumps(entry))
        if some and (len(some) == most or size + more > LARGEST_DOCUMENT):
            yield some
            some, size = [], 0
        some.append(entry)
        size += more
    if some:
        yield some


def _passage(passage: JsonObject) -> JsonObject:
    """The request that creates a passage. Its id is derived from the id at the source, and begins with its time."""
    at = _MOMENT.validate_python(passage["created_at"])
    fields: JsonObject = {"text": passage["text"], "tags": passage.get("tags") or [], "metadata": passage.get("metadata") or {}}
    source_id = str(passage["id"])
    whole = source_id if is_id(source_id, "passage") else compose("passage", 0, 0, int(digest(source_id)[:13], 16))
    return {"id": as_of(whole, at), "created_at": wire_time(at), **fields}


def _tool(tool: JsonObject) -> Json:
    return tool.get("source_code")


def _of_identity(fields: JsonObject) -> Json:
    return [fields.get("name"), fields.get("identity_type")]
