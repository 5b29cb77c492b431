"""A dry run: reads the whole source, asks the target what it has, and writes nothing to either."""

from __future__ import annotations

from collections.abc import Iterable

from hibernaut.domain.agent_files.notes import ImportNotes
from hibernaut.domain.tools.builtin.builtin_tools import builtin_tools
from hibernaut.local.migrating.digests import log_digest
from hibernaut.local.migrating.mcp_moves import OTHER, is_other, unreadable_of
from hibernaut.local.migrating.migration import NO_TEXT
from hibernaut.local.migrating.report import MigrationReport
from hibernaut.local.migrating.sources.mcp_records import server_of
from hibernaut.local.migrating.sources.source import MigrationSource, SourceAgent, SourceLog
from hibernaut.local.migrating.target import Target
from hibernaut.local.progress import ProgressReport
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import HibernautError
from hibernaut.schemas.immutable import immutable


@immutable
class DryRun:
    """Says what a migration would move, and what would differ. The counts of the report: at the source, and on the target
    before.
    """

    source: MigrationSource
    target: Target
    report: MigrationReport
    progress: ProgressReport

    def run(self) -> None:
        """Raises: CannotServe."""
        served = self.target.models()
        self._named(self.source.tools())
        servers = self._mcp_servers()
        self._count("identities", (one.id for one in self.source.identities()))
        self._count("blocks", (str(one["id"]) for one in self.source.blocks()))
        self._folders()
        of = self.source.agent_count()
        for number, agent in enumerate(self.source.agents(), 1):
            self.progress.share(number, max(number, of))
            self._agent(agent, served, servers)
        for archive in self.source.archives():
            self._count("archives", [archive.id])
            self.report.count("passages", sum(1 for _ in self.source.passages(archive)), self.target.passages(archive))
        self._count("groups", (str(one["id"]) for one in self.source.groups()))
        for note in self.source.notes:
            self.report.found("left_out", note.record, note.why)

    def _count(self, kind: str, ids: Iterable[str]) -> None:
        listed = list(ids)
        self.report.count(kind, len(listed), sum(self.target.has(kind, one) for one in listed))

    def _named(self, tools: Iterable[JsonObject]) -> None:
        for tool in tools:
            there = self.target.tool(str(tool["name"]))
            self.report.count("tools", 1, int(there is not None))
            if there is not None and there.get("source_code") != tool.get("source_code"):
                self.report.found(
                    "differs", str(tool["id"]), f"The target has another tool with the name {tool['name']}, which stays as it is."
                )

    def _mcp_servers(self) -> set[str]:
        """The names of the MCP servers that the target would have."""
        there = self.target.mcp_servers()
        names = set(there)
        for server in self.source.mcp_servers():
            names.add(server.name)
            found = there.get(server.name)
            self.report.count("MCP servers", 1, int(found is not None))
            if is_other(found, server):
                self.report.found("differs", server.name, OTHER.format(name=server.name))
            elif server.unreadable:
                self.report.found("left_out", server.name, unreadable_of(server))
        return names

    def _folders(self) -> None:
        for folder in self.source.folders():
            self._count("folders", [str(folder["id"])])
            there = {str(one["id"]) for one in self.target.find_files(str(folder["id"]))}
            for file in self.source.files(str(folder["id"])):
                self.report.count("files", 1, int(str(file["id"]) in there))
                if not isinstance(file.get("content"), str):
                    self.report.found("left_out", str(file["id"]), NO_TEXT)

    def _log(self, agent: SourceAgent, log: SourceLog, conversation_id: str | None, notes: ImportNotes) -> None:
        """Count the messages of a conversation, without messages that were written on the target later."""
        try:
            rows = len(log_digest(log.messages, log.in_context, notes).rows)
        except HibernautError as error:
            self.report.found("lost", agent.id, f"Its messages cannot be read: {error}")
            return
        there = self.target.find_log(agent.id, conversation_id)
        moved = len(log_digest(there["messages"], there["in_context_message_ids"], ImportNotes()).rows) if there else 0
        self.report.count("messages", rows, min(rows, moved))

    def _agent(self, agent: SourceAgent, served: set[str], servers: set[str]) -> None:
        self._count("agents", [agent.id])
        notes = ImportNotes()
        conversations = list(self.source.conversations(agent))
        self._count("conversations", (one.id for one in conversations))
        self._log(agent, self.source.log(agent), None, notes)
        for one in conversations:
            self._log(agent, one.log, one.id, notes)
        for note in notes.all():
            self.report.found(note.kind, agent.id, note.detail)
        handle = (agent.entry.get("llm_config") or {}).get("handle")
        if handle and handle not in served:
            self.report.found(
                "replaced", agent.id, f"The model {handle} is not served on the target; the agent would get the default one."
            )
        for tool in agent.tools:
            kind, name = str(tool.get("tool_type") or ""), str(tool.get("name"))
            if kind.startswith("letta_") and name not in builtin_tools():
                self.report.found("left_out", agent.id, f"The tool {name} is built into Letta and not into the target.")
            elif kind.startswith("external_") and server_of(tool) not in servers:
                self.report.found(
                    "repaired", agent.id, f"The tool {name} has no server on the target: its calls answer with an error."
                )
        empty = [key for key, value in (agent.entry.get("secrets") or {}).items() if not value]
        if empty:
            self.report.found("repaired", agent.id, f"Secrets without a value are empty: {', '.join(empty)}.")
