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

GONE = (
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
        self._each("groups", lambda one, _known: self._there("groups", one))
        archives = self.state.of_kind("archives")
        self._each("archives", lambda one, _known: self._there("archives", one))
        self.report.count(
            "passages", sum(one["source"] for one in archives.values()), sum(one["target"] for one in archives.values())
        )
        self.report.count("identities", len(identities := self.state.of_kind("identities")), self._identities(identities))

    def _each(self, kind: str, check: Callable[[str, JsonObject], bool]) -> None:
        known = self.state.of_kind(kind)
        self.report.count(kind, len(known), sum(check(identifier, one) for identifier, one in known.items()))

    def _there(self, kind: str, identifier: str) -> bool:
        if self.target.has(kind, identifier):
            return True
        self.report.found("lost", identifier, GONE)
        return False

    def _mcp_servers(self, known: Mapping[str, JsonObject]) -> None:
        there = self.target.mcp_servers() if known else {}
        self.report.count("MCP servers", len(known), sum(one["name"] in there for one in known.values()))
        for one in known.values():
            found = there.get(one["name"])
            if found is None:
                self.report.found("lost", one["name"], GONE)
            elif place_of(found) != one["place"]:
                self.report.found("differs", one["name"], OTHER.format(name=one["name"]))

    def _identities(self, known: Mapping[str, JsonObject]) -> int:
        return sum(self.target.has("identities", one["new"]) for one in known.values())

    def _tool(self, identifier: str, known: JsonObject) -> bool:
        there = self.target.tool(str(known["name"]))
        if there is None:
            self.report.found("left_out", identifier, f"The target has no tool {known['name']}.")
            return False
        if digest(there.get("source_code")) != known["digest"]:
            self.report.found(
                "differs", identifier, f"The target has another tool with the name {known['name']}, which stays as it is."
            )
        return True

    def _block(self, identifier: str, known: JsonObject) -> bool:
        there = self.target.record("blocks", identifier)
        if there is None:
            self.report.found("lost", identifier, GONE)
            return False
        if digest(block_fields(there)) != known["digest"]:
            self.report.found(
                "repaired", identifier, "The block has another label or value on the target: repaired, or changed there since."
            )
        return True

    def _folder(self, identifier: str, known: JsonObject) -> bool:
        try:
            there = {str(one["id"]): digest(one.get("content")) for one in self.target.files(identifier)}
        except RequestRefused:
            self.report.found("lost", identifier, GONE)
            return False
        for file_id, wanted in known["files"].items():
            if file_id not in there:
                self.report.found("lost", file_id, GONE)
            elif there[file_id] != wanted:
                self.report.found("differs", file_id, "The file has another text on the target.")
        self.report.count("files", len(known["files"]), len(there.keys() & known["files"].keys()))
        return True

    def _agent(self, identifier: str, known: JsonObject) -> bool:
        try:
            document, entry = self.target.log(identifier)
        except RequestRefused:
            self.report.found("lost", identifier, GONE)
            return False
        self._log(identifier, known, entry)
        missing = len(known["tools"]) - len({one["name"] for one in document["tools"]} & set(known["tools"]))
        if missing:
            self.report.found("left_out", identifier, f"It lacks {missing} tools on the target.")
        if len(document["blocks"]) < len(known["blocks"]):
            self.report.found(
                "differs", identifier, f"It has {len(document['blocks'])} of {len(known['blocks'])} blocks on the target."
            )
        return True

    def _conversation(self, identifier: str, known: JsonObject) -> bool:
        try:
            _, entry = self.target.log(known["agent"], identifier)
        except RequestRefused:
            self.report.found("lost", identifier, "The conversation is not on the target.")
            return False
        self._log(identifier, known, entry)
        return True

    def _log(self, identifier: str, known: JsonObject, entry: JsonObject) -> None:
        """Compare a log, of which the target may have more rows than were moved."""
        rows = log_digest(entry["messages"], entry["in_context_message_ids"], ImportNotes()).rows
        moved = rows[: known["rows"]]
        self.report.count("messages", known["rows"], len(moved))
        if LogDigest(moved).whole != known["digest"]:
            self.report.found("differs", identifier, "Its messages on the target are others than those of the source.")
        elif len(rows) > known["rows"]:
            self.report.found("repaired", identifier, "It has talked on the target since it was moved.")
