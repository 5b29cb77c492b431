"""The Postgres of a Letta server as the source of a migration: V1's tables at its last release.

Facts of the schema: each noun has a table with `id`, `organization_id`, `created_at` and `is_deleted`; metadata is in
`metadata_`; configurations, contents, calls, returns and the window (`agents.message_ids`) are JSON; the order of a log is
`messages.sequence_id`; the text of a file is in `file_contents`; vectors are in `embedding`, which is not read. Missing columns
count as empty, so that databases of older releases can be read too.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from hibernaut.local.migrating.sources.mcp_records import server_from_row
from hibernaut.local.migrating.sources.postgres import Postgres
from hibernaut.local.migrating.sources.source import (
    OF_AN_IDENTITY,
    SourceAgent,
    SourceArchive,
    SourceConversation,
    SourceIdentity,
    SourceLog,
    SourceMcpServer,
    SourceNote,
    agent_entry,
    group_fields,
    handle_of,
)
from hibernaut.local.profiles import CannotServe
from hibernaut.schemas.base import Json, JsonObject, wire_time

PASSAGES = 500
AGENTS = 100
FILES = 10
"""Rows of one read."""
ENCRYPTED = "The value of the secret {key} is encrypted with a key of the old server; set it again."


class PostgresSource:
    """The database of one organization."""

    def __init__(self, database: Postgres, organization: str) -> None:
        self._database = database
        self._organization = organization
        self.notes: list[SourceNote] = []

    @classmethod
    def at(cls, url: str, organization: str) -> PostgresSource:
        """The source at a URL. `organization` "": the only one that has agents. Raises: CannotServe."""
        database = Postgres(url)
        try:
            return cls(database, _organization_of(database, organization))
        except CannotServe:
            database.close()
            raise

    @property
    def label(self) -> str:
        return f"{self._database.label} {self._organization}".rstrip()

    def close(self) -> None:
        self._database.close()

    def agent_count(self) -> int:
        return self._database.count("agents", "organization_id = :organization", organization=self._organization)

    def tools(self) -> Iterator[JsonObject]:
        return (tool for tool in self._own("tools") if tool.get("tool_type", "custom") == "custom")

    def mcp_servers(self) -> Iterator[SourceMcpServer]:
        tools = [tool for tool in self._own("tools") if tool.get("tool_type") == "external_mcp"]
        return (server_from_row(row, tools) for row in self._own("mcp_server"))

    def identities(self) -> Iterator[SourceIdentity]:
        for identity in self._own("identities"):
            fields = {name: identity[name] for name in OF_AN_IDENTITY if identity.get(name) is not None}
            links = self._database.rows("identities_blocks", "identity_id = :id", id=identity["id"])
            yield SourceIdentity(str(identity["id"]), fields, [str(one["block_id"]) for one in links])

    def blocks(self) -> Iterator[JsonObject]:
        return self._own("block")

    def folders(self) -> Iterator[JsonObject]:
        return self._own("sources")

    def files(self, folder_id: str) -> Iterator[JsonObject]:
        for file in self._database.pages("files", "source_id = :folder", size=FILES, folder=folder_id):
            texts = self._database.rows("file_contents", "file_id = :file", file=file["id"])
            yield {**_json(file), "content": texts[0]["text"] if texts else None}

    def agents(self) -> Iterator[SourceAgent]:
        for row in self._database.pages(
            "agents", "organization_id = :organization", size=AGENTS, organization=self._organization
        ):
            yield self._agent(_json(row))

    def _agent(self, row: JsonObject) -> SourceAgent:
        agent_id = str(row["id"])
        blocks = self._linked("block", "blocks_agents", "block_id", agent_id)
        tools = self._linked("tools", "tools_agents", "tool_id", agent_id)
        folders = self._linked("sources", "sources_agents", "source_id", agent_id)
        entry = agent_entry(row, self._secrets(agent_id)) | {
            "tags": [str(one["tag"]) for one in self._database.rows("agents_tags", "agent_id = :agent", "tag", agent=agent_id)],
            "block_ids": [one["id"] for one in blocks],
            "tool_ids": [one["id"] for one in tools],
            "source_ids": [one["id"] for one in folders],
            "message_ids": row.get("message_ids") or [],
            "files_agents": [_json(one) for one in self._database.rows("files_agents", "agent_id = :agent", agent=agent_id)],
        }
        identities = self._database.rows("identities_agents", "agent_id = :agent", agent=agent_id)
        return SourceAgent(entry, blocks, tools, folders, [str(one["identity_id"]) for one in identities])

    def _linked(self, table: str, links: str, column: str, agent_id: str) -> list[JsonObject]:
        where = f'id IN (SELECT "{column}" FROM "{links}" WHERE agent_id = :agent)'  # noqa: S608 - names of V1's tables
        return [_json(row) for row in self._database.rows(table, where, "created_at, id", agent=agent_id)]

    def _secrets(self, agent_id: str) -> dict[str, str]:
        secrets: dict[str, str] = {}
        for row in self._database.rows("agent_environment_variables", "agent_id = :agent", "key", agent=agent_id):
            secrets[str(row["key"])] = str(row.get("value") or "")
            if not row.get("value") and row.get("value_enc"):
                self._leave(agent_id, ENCRYPTED.format(key=row["key"]))
        return secrets

    def log(self, agent: SourceAgent) -> SourceLog:
        own = " AND conversation_id IS NULL" if "conversation_id" in self._database.columns("messages") else ""
        return SourceLog(self._rows_of(agent, f"agent_id = :owner{own}", owner=agent.id), list(agent.entry["message_ids"]))

    def conversations(self, agent: SourceAgent) -> Iterator[SourceConversation]:
        for row in self._database.rows("conversations", "agent_id = :agent", "created_at, id", agent=agent.id):
            messages = self._rows_of(agent, "agent_id = :owner AND conversation_id = :one", owner=agent.id, one=row["id"])
            window = self._database.rows(
                "conversation_messages", "conversation_id = :one AND in_context", "position", one=row["id"]
            )
            where = "id IN (SELECT block_id FROM blocks_conversations WHERE conversation_id = :one)"
            isolated = (
                self._database.rows("block", where, one=row["id"]) if self._database.columns("blocks_conversations") else []
            )
            log = SourceLog(messages, [str(one["message_id"]) for one in window])
            yield SourceConversation(_json(row), log, [_json(one) for one in isolated])

    def _rows_of(self, agent: SourceAgent, where: str, **values: object) -> list[JsonObject]:
        """The rows of a log, without rows of failed steps."""
        order = "sequence_id" if "sequence_id" in self._database.columns("messages") else "created_at, id"
        rows = self._database.rows("messages", where, order, but=(), **values)
        if failed := sum(1 for row in rows if row.get("is_err")):
            self._leave(agent.id, f"{failed} messages of failed steps, which V1 keeps for debugging, are no part of its log.")
        return [_message(row) for row in rows if not row.get("is_err")]

    def archives(self) -> Iterator[SourceArchive]:
        for row in self._own("archives"):
            links = self._database.rows("archives_agents", "archive_id = :archive", "agent_id", archive=row["id"])
            handle = handle_of(row.get("embedding_config"))
            agents = [str(one["agent_id"]) for one in links]
            yield SourceArchive(str(row["id"]), str(row["name"]), row.get("description"), handle, agents)

    def passages(self, archive: SourceArchive) -> Iterator[JsonObject]:
        pages = self._database.pages(
            "archival_passages", "archive_id = :archive", size=PASSAGES, but=("embedding",), archive=archive.id
        )
        for row in pages:
            yield {**_json(row), "metadata": row.get("metadata_") or {}}

    def groups(self) -> Iterator[JsonObject]:
        for row in self._own("groups"):
            blocks = self._database.rows("groups_blocks", "group_id = :group", group=row["id"])
            yield group_fields({**row, "shared_block_ids": [str(one["block_id"]) for one in blocks]})

    def _own(self, table: str) -> Iterator[JsonObject]:
        """The rows of the organization."""
        where = "organization_id = :organization"
        for row in self._database.rows(table, where, "created_at, id", organization=self._organization):
            yield _json(row)

    def _leave(self, record: str, why: str) -> None:
        self.notes.append(SourceNote(record, why))


def _organization_of(database: Postgres, organization: str) -> str:
    """The organization to move: `organization`, or the only one. Raises: CannotServe."""
    if not database.columns("agents") or not database.columns("messages"):
        raise CannotServe(f"{database.label} has no tables `agents` and `messages`; is it the database of a Letta server?", 2)
    others = tuple(name for name in database.columns("agents") if name != "organization_id")
    found = {str(row["organization_id"]) for row in database.rows("agents", but=others)}
    if organization and organization not in found:
        raise CannotServe(f"{database.label} has no agents of the organization {organization}", 2)
    if not organization and len(found) > 1:
        raise CannotServe(
            f"{database.label} has agents of several organizations: name one by --organization: {', '.join(sorted(found))}", 2
        )
    return organization or next(iter(found), "")


def _message(row: JsonObject) -> JsonObject:
    """A row of a log in the form of an agent file. Rows of early releases have a text instead of contents."""
    fields = {name: value for name, value in _json(row).items() if name != "text"}
    content = row.get("content") or ([{"type": "text", "text": row["text"]}] if row.get("text") else None)
    return {**fields, "type": "message", "content": content}


def _json(row: JsonObject) -> JsonObject:
    """A row with times in the format of V1's API, and with metadata under the API's name."""
    fields: JsonObject = {name: _value(value) for name, value in row.items()}
    if "metadata_" in fields and "metadata" not in fields:
        fields["metadata"] = fields["metadata_"]
    return fields


def _value(value: Json) -> Json:
    return wire_time(value) if isinstance(value, datetime) else value
