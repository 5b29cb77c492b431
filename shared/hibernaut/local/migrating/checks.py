"""The check at the end of a migration: what was moved is read from the target, counted, and compared by digests."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hibernaut.domain.agent_files.notes import ImportNotes
from hibernaut.local.migrating.api import RequestRefused
from hibernaut.local.migrating.digests import LogDigest, block_fields, digest, log_digest
from hibernaut.local.migrating.mcp_moves import KIND, OTHER, place_of
from hibernaut.local.migrating.report import MigrationReport
from hibernaut.local.migrating.state import MigrationState
from hibernaut.local.migrating.target import Target
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.immutable import immutable

MISSING = (
    "It is not on the target, although it was moved: it was deleted there. Remove its line from the state file to move it again."
)


@immutable
class MigrationCheck:
    """Compares the target with what the state knows of the source."""

    target: Target
    state: MigrationState
    report: MigrationReport

    def run(self) -> None:
        """Check every record. Raises: CannotServe."""
        self._each("tools", self._tool)
        self._mcp_servers(self.state.of_kind(KIND))
        self._each("blocks", self._block)
        self._each("folders", self._folder)
        self._each("agents", self._agent)
        self._each("conversations", self._conversation)
        self._each("groups", lambda one, _record: self._exists("groups", one))
        archives = self.state.of_kind("archives")
        self._each("archives", lambda one, _record: self._exists("archives", one))
        self.report.count(
            "passages", sum(one["source"] for one in archives.values()), sum(one["target"] for one in archives.values())
        )
        self.report.count("identities", len(identities := self.state.of_kind("identities")), self._identities(identities))

    def _each(self, kind: str, check: Callable[[str, JsonObject], bool]) -> None:
        records = self.state.of_kind(kind)
        self.report.count(kind, len(records), sum(check(identifier, one) for identifier, one in records.items()))

    def _exists(self, kind: str, identifier: str) -> bool:
        if self.target.has(kind, identifier):
            return True
        self.report.found("lost", identifier, MISSING)
        return False

    def _mcp_servers(self, servers: Mapping[str, JsonObject]) -> None:
        there = self.target.mcp_servers() if servers else {}
        self.report.count("MCP servers", len(servers), sum(one["name"] in there for one in servers.values()))
        for one in servers.values():
            found = there.get(one["name"])
            if found is None:
                self.report.found("lost", one["name"], MISSING)
            elif place_of(found) != one["place"]:
                self.report.found("differs", one["name"], OTHER.format(name=one["name"]))

    def _identities(self, identities: Mapping[str, JsonObject]) -> int:
        return sum(self.target.has("identities", one["new"]) for one in identities.values())

    def _tool(self, identifier: str, record: JsonObject) -> bool:
        there = self.target.tool(str(record["name"]))
        if there is None:
            self.report.found("left_out", identifier, f"The target has no tool {record['name']}.")
            return False
        if digest(there.get("source_code")) != record["digest"]:
            self.report.found(
                "differs", identifier, f"The target has another tool with the name {record['name']}, which stays as it is."
            )
        return True

    def _block(self, identifier: str, record: JsonObject) -> bool:
        there = self.target.record("blocks", identifier)
        if there is None:
            self.report.found("lost", identifier, MISSING)
            return False
        if digest(block_fields(there)) != record["digest"]:
            self.report.found(
                "repaired", identifier, "The block has another label or value on the target: repaired, or changed there since."
            )
        return True

    def _folder(self, identifier: str, record: JsonObject) -> bool:
        try:
            there = {str(one["id"]): digest(one.get("content")) for one in self.target.files(identifier)}
        except RequestRefused:
            self.report.found("lost", identifier, MISSING)
            return False
        for file_id, expected in record["files"].items():
            if file_id not in there:
                self.report.found("lost", file_id, MISSING)
            elif there[file_id] != expected:
                self.report.found("differs", file_id, "The file has another text on the target.")
        self.report.count("files", len(record["files"]), len(there.keys() & record["files"].keys()))
        return True

    def _agent(self, identifier: str, record: JsonObject) -> bool:
        try:
            document, entry = self.target.log(identifier)
        except RequestRefused:
            self.report.found("lost", identifier, MISSING)
            return False
        self._log(identifier, record, entry)
        missing = len(record["tools"]) - len({one["name"] for one in document["tools"]} & set(record["tools"]))
        if missing:
            self.report.found("left_out", identifier, f"It lacks {missing} tools on the target.")
        if len(document["blocks"]) < len(record["blocks"]):
            self.report.found(
                "differs", identifier, f"It has {len(document['blocks'])} of {len(record['blocks'])} blocks on the target."
            )
        return True

    def _conversation(self, identifier: str, record: JsonObject) -> bool:
        try:
            _, entry = self.target.log(record["agent"], identifier)
        except RequestRefused:
            self.report.found("lost", identifier, "The conversation is not on the target.")
            return False
        self._log(identifier, record, entry)
        return True

    def _log(self, identifier: str, record: JsonObject, entry: JsonObject) -> None:
        """Compare a log. The target may have additional rows after the moved ones."""
        rows = log_digest(entry["messages"], entry["in_context_message_ids"], ImportNotes()).rows
        moved = rows[: record["rows"]]
        self.report.count("messages", record["rows"], len(moved))
        if LogDigest(moved).whole != record["digest"]:
            self.report.found("differs", identifier, "Its messages on the target are others than those of the source.")
        elif len(rows) > record["rows"]:
            self.report.found("repaired", identifier, "It has talked on the target since it was moved.")
