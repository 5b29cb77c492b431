"""A server with the V1 API as the source of a migration (Letta V1 API, API 1.4, 1.5, 2 and 3).

V1 exports the messages of the window alone, so the others are read from the
list of messages; a server of this project exports the whole log. Lists of messages are chronological, and their cursor is a row.
"""

from __future__ import annotations

from collections.abc import Iterator

from hibernaut.local.migrating.api import Api, RequestRefused
from hibernaut.local.migrating.letta_messages import rows_of
from hibernaut.local.migrating.sources.mcp_records import server_from_api
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
from hibernaut.schemas.base import Json, JsonObject

ROWS, AGENTS, FILES, PASSAGES = 200, 50, 20, 200
"""Entries of one page."""
OURS = "hibernaut"
"""The exporter that this project's servers name in agent files."""
RELATIONS = [f"agent.{name}" for name in ("blocks", "identities", "secrets", "sources", "tags", "tools")]
"""The relations in requests for an agent. The values of secrets need an explicit request."""


class HttpSource:
    """A server with the V1 API. It is sent GET requests only."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._agents_of_archives: dict[str, list[str]] = {}
        self.notes: list[SourceNote] = []

    @property
    def label(self) -> str:
        return self._api.url

    def close(self) -> None:
        self._api.close()

    def agent_count(self) -> int:
        count = self._api.found("/v1/agents/count")
        return count if isinstance(count, int) else 0

    def tools(self) -> Iterator[JsonObject]:
        return (tool for tool in self._api.each("/v1/tools/") if tool.get("tool_type") == "custom")

    def mcp_servers(self) -> Iterator[SourceMcpServer]:
        servers = self._api.found("/v1/mcp-servers/") or ()
        tools = [one for one in self._api.each("/v1/tools/") if one.get("tool_type") == "external_mcp"] if servers else []
        return (server_from_api(one, tools) for one in servers)

    def identities(self) -> Iterator[SourceIdentity]:
        for identity in self._list("/v1/identities/"):
            fields = {name: identity[name] for name in OF_AN_IDENTITY if identity.get(name) is not None}
            yield SourceIdentity(str(identity["id"]), fields, identity.get("block_ids") or ())

    def blocks(self) -> Iterator[JsonObject]:
        return self._api.each("/v1/blocks/", show_hidden_blocks=True)

    def folders(self) -> Iterator[JsonObject]:
        return self._api.each("/v1/folders/")

    def files(self, folder_id: str) -> Iterator[JsonObject]:
        return self._api.each(f"/v1/folders/{folder_id}/files", size=FILES, include_content=True)

    def groups(self) -> Iterator[JsonObject]:
        return (group_fields(group) for group in self._list("/v1/groups/", show_hidden_groups=True))

    def agents(self) -> Iterator[SourceAgent]:
        listed, query = 0, {"order": "asc", "show_hidden_agents": True, "include": RELATIONS}
        for state in self._api.each("/v1/agents/", size=AGENTS, **query):
            listed += 1
            yield self._agent(state)
        if (counted := self.agent_count()) > listed:
            self._leave(
                self.label,
                f"It counts {counted} agents and lists {listed}: this server does not list hidden agents. Its database has them.",
            )

    def _agent(self, state: JsonObject) -> SourceAgent:
        memory = state.get("memory") or {}
        blocks, tools = state.get("blocks") or memory.get("blocks") or [], state.get("tools") or []
        folders = state.get("sources") or []
        secrets = state.get("secrets") or state.get("tool_exec_environment_variables") or []
        entry = agent_entry(state, {str(one["key"]): str(one.get("value") or "") for one in secrets})
        entry |= {
            "tags": state.get("tags") or [],
            "block_ids": _ids(blocks),
            "tool_ids": _ids(tools),
            "source_ids": _ids(folders),
            "message_ids": state.get("message_ids") or [],
            "files_agents": self._desk(str(state["id"])) if folders else [],
        }
        identities = state.get("identity_ids") or _ids(state.get("identities") or [])
        return SourceAgent(entry, blocks, tools, folders, identities)

    def _desk(self, agent_id: str) -> list[JsonObject]:
        found: list[JsonObject] = []
        cursor: JsonObject = {}
        while page := self._api.found(f"/v1/agents/{agent_id}/files", limit=100, **cursor):
            found += page["files"]
            if not page.get("has_more") or not page["files"]:
                break
            cursor = {"after": page["next_cursor"]}
        return found

    def log(self, agent: SourceAgent) -> SourceLog:
        query: JsonObject = {"conversation_id": "default", "use_assistant_message": False}
        return self._log(agent, f"/v1/agents/{agent.id}/messages", query, None, list(agent.entry["message_ids"]))

    def conversations(self, agent: SourceAgent) -> Iterator[SourceConversation]:
        for one in self._list("/v1/conversations/", size=50, order="asc", agent_id=agent.id, archive_status="all"):
            whole = self._api.found(f"/v1/conversations/{one['id']}") or one
            in_context = list(whole.get("in_context_message_ids") or ())
            log = self._log(agent, f"/v1/conversations/{one['id']}/messages", {}, str(one["id"]), in_context)
            found = (self._api.found(f"/v1/blocks/{block}") for block in whole.get("isolated_block_ids") or ())
            yield SourceConversation(whole, log, [block for block in found if block is not None])

    def _log(
        self, agent: SourceAgent, path: str, query: JsonObject, conversation: str | None, in_context: list[str]
    ) -> SourceLog:
        """A log: as a server of this project exports it, or else from the list of its messages, with the exported rows of its
        window.
        """
        exported = self._exported(agent.id, conversation)
        if exported is not None and (exported.get("metadata") or {}).get("exporter") == OURS:
            own = exported["agents"][0]
            return SourceLog(own["messages"], own["in_context_message_ids"])
        rows = rows_of(self._messages(path, query))
        whole = _window(exported, agent.name, in_context) if exported is not None else {}
        return SourceLog([whole.get(row["id"], row) for row in rows], in_context)

    def _exported(self, agent_id: str, conversation: str | None) -> JsonObject | None:
        query = {"conversation_id": conversation} if conversation is not None else {}
        try:
            return dict(self._api.get(f"/v1/agents/{agent_id}/export", full_history=True, **query))
        except RequestRefused:
            return None  # V1 does not export agents with names that it no longer permits

    def _messages(self, path: str, query: JsonObject) -> Iterator[JsonObject]:
        """The messages of a conversation, oldest first."""
        ids: set[str] = set()
        cursor: JsonObject = {}
        while page := self._api.get(path, limit=ROWS, order="asc", **query, **cursor):
            new = [one for one in page if one["id"] not in ids]
            if not new:
                return
            yield from new
            ids.update(str(one["id"]) for one in new)
            cursor = {"after": page[-1]["id"]}

    def archives(self) -> Iterator[SourceArchive]:
        for archive in self._list("/v1/archives/"):
            agents = [str(one["id"]) for one in self._list(f"/v1/archives/{archive['id']}/agents")]
            handle = handle_of(archive.get("embedding_config"))
            yield SourceArchive(str(archive["id"]), str(archive["name"]), archive.get("description"), handle, agents)

    def passages(self, archive: SourceArchive) -> Iterator[JsonObject]:
        if not archive.agent_ids:
            self._leave(
                archive.id,
                "The passages of an archive that is attached to no agent are not listed by the API. Attach it, and run again.",
            )
            return
        path = f"/v1/agents/{archive.agent_ids[0]}/archival-memory"
        for passage in self._api.each(path, size=PASSAGES, ascending=True):
            if passage.get("archive_id") in (archive.id, None):
                yield passage

    def _list(self, path: str, *, size: int = 100, **query: Json) -> Iterator[JsonObject]:
        """The entries of a list that older servers do not have."""
        try:
            yield from self._api.each(path, size=size, **query)
        except RequestRefused as refused:
            if refused.status not in (404, 405, 422):
                raise

    def _leave(self, record: str, why: str) -> None:
        self.notes.append(SourceNote(record, why))


def _ids(entries: list[JsonObject]) -> list[str]:
    return [str(one["id"]) for one in entries]


def _window(exported: JsonObject, name: str, in_context: list[str]) -> dict[str, JsonObject]:
    """The exported rows of the window by their own ids, which files do not have: they are in the order of the window. None if two
    agents of the file may be the exported one.
    """
    agents = [
        one for one in exported["agents"] if one.get("name") == name and len(one["in_context_message_ids"]) == len(in_context)
    ]
    if len(agents) != 1:
        return {}
    own = agents[0]
    rows = {row["id"]: row for row in own["messages"]}
    ids = dict(zip(own["in_context_message_ids"], in_context, strict=True))
    moved: dict[str, JsonObject] = {}
    for there, here in ids.items():
        if there in rows:
            request = rows[there].get("approval_request_id")
            moved[here] = {**rows[there], "id": here, "approval_request_id": ids.get(request, request)}
    return moved
