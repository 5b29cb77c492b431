"""A double of Letta's V1 server for those who read it: its lists, cursors and shapes where a migration relies on them. Sources:
Letta V1 API, API 1.4, 1.5, 2.2 to 2.12 and 3; RT 12.2.

It refuses every request but GET: a migration never writes to its source.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from httpx2 import Request, Response

from tests.support.v1_data import Names, Row, tables

ALLOWED_IN_NAMES = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ -'"


OPENED = "opened-token"
"""What the values of `…_enc` say."""


class Missing(Exception):
    """404."""


class V1Server:
    """Serves the rows of one small server. `asked`: the requests."""

    def __init__(self, seed: int = 1) -> None:
        self.names = Names(seed)
        self.rows = tables(seed)
        self.asked: list[tuple[str, str]] = []

    def __call__(self, request: Request) -> Response:
        self.asked.append((request.method, request.url.path))
        if request.method != "GET":
            raise AssertionError(f"{request.method} {request.url.path} at the source")
        try:
            value = self._answer(request.url.path, request.url.params)
        except Missing as missing:
            return Response(404, json={"detail": str(missing)})
        return (
            value
            if isinstance(value, Response)
            else Response(200, content=json.dumps(value, default=_time), headers={"content-type": "application/json"})
        )

    def _answer(self, path: str, query: Any) -> Any:
        match path.removeprefix("/v1/").rstrip("/").split("/"):
            case ["agents", *rest]:
                return self._of_agents(rest, query)
            case ["conversations", *rest]:
                return self._of_conversations(rest, query)
            case ["archives", archive_id, "agents"]:
                found = {one["agent_id"] for one in self.rows["archives_agents"] if one["archive_id"] == archive_id}
                agents = [one for one in self.rows["agents"] if one["id"] in found]
                return [self._state(one) for one in _listed(agents, query, 50, "desc")]
            case ["folders", folder_id, "files"]:
                files = [one for one in self.rows["files"] if one["source_id"] == folder_id]
                texts = {
                    one["file_id"]: one["text"] for one in self.rows["file_contents"] if query.get("include_content") == "true"
                }
                return [{**one, "content": texts.get(one["id"])} for one in _listed(files, query, 1000, "desc")]
            case ["blocks", block_id]:
                return next(_wire(one) for one in self.rows["block"] if one["id"] == block_id)
            case ["mcp-servers"]:
                return [_mcp_server(one) for one in self.rows["mcp_server"]]
            case [noun] if noun in LISTS:
                table, order, shape = LISTS[noun]
                return [shape(self, one) for one in _listed(self.rows[table], query, 50, order)]
        return Response(404, json={"detail": "Not Found"})

    def _of_agents(self, rest: list[str], query: Any) -> Any:
        match rest:
            case ["count"]:
                return len(self.rows["agents"])
            case []:
                shown = [one for one in self.rows["agents"] if not one["hidden"] or query.get("show_hidden_agents") == "true"]
                return [self._state(one) for one in _listed(shown, query, 50, "desc", lost="ignored")]
            case [agent_id, "messages"]:
                return self._messages(agent_id, query)
            case [agent_id, "export"]:
                return self._export(agent_id, query.get("conversation_id"))
            case [agent_id, "files"]:
                return self._desk(agent_id, query)
            case [agent_id, "archival-memory"]:
                return self._passages(agent_id, query)
        return Response(404, json={"detail": "Not Found"})

    def _of_conversations(self, rest: list[str], query: Any) -> Any:
        match rest:
            case []:
                rows = [_wire(one) for one in self.rows["conversations"] if one["agent_id"] == query["agent_id"]]
                return _listed(rows, query, 50, "desc")
            case [conversation_id]:
                return self._conversation(conversation_id)
            case [conversation_id, "messages"]:
                log = self._log(self._conversation(conversation_id)["agent_id"], conversation_id)
                return [message for row in _listed(log, query, 100, "desc", lost="ignored") for message in _shown(row)]
        return Response(404, json={"detail": "Not Found"})

    def _linked(self, table: str, links: str, column: str, agent_id: str) -> list[Row]:
        ids = {one[column] for one in self.rows[links] if one["agent_id"] == agent_id}
        return [_wire(one) for one in self.rows[table] if one["id"] in ids]

    def _agent(self, agent_id: str) -> Row:
        found = next((one for one in self.rows["agents"] if one["id"] == agent_id), None)
        if found is None:
            raise Missing(f"Agent with ID {agent_id} not found")
        return found

    def _state(self, row: Row) -> Row:
        """An AgentState for a client that names no SDK: with all relations. Secrets are shown in clear where the server can open
        them.
        """
        blocks = self._linked("block", "blocks_agents", "block_id", row["id"])
        secrets = [one for one in self.rows["agent_environment_variables"] if one["agent_id"] == row["id"]]
        identities = [one["identity_id"] for one in self.rows["identities_agents"] if one["agent_id"] == row["id"]]
        return {
            **_wire(row),
            "blocks": blocks,
            "memory": {"blocks": blocks, "file_blocks": []},
            "tools": self._linked("tools", "tools_agents", "tool_id", row["id"]),
            "sources": self._linked("sources", "sources_agents", "source_id", row["id"]),
            "tags": [one["tag"] for one in self.rows["agents_tags"] if one["agent_id"] == row["id"]],
            "identity_ids": identities,
            "secrets": [{**one, "value": one["value"] or ""} for one in secrets],
        }

    def _conversation(self, conversation_id: str) -> Row:
        row = next(one for one in self.rows["conversations"] if one["id"] == conversation_id)
        shown = [
            one["message_id"]
            for one in self.rows["conversation_messages"]
            if one["conversation_id"] == conversation_id and one["in_context"]
        ]
        blocks = [one["block_id"] for one in self.rows["blocks_conversations"] if one["conversation_id"] == conversation_id]
        return {**_wire(row), "in_context_message_ids": shown, "isolated_block_ids": blocks}

    def _log(self, agent_id: str, conversation_id: str | None = None) -> list[Row]:
        rows = [
            one
            for one in self.rows["messages"]
            if one["agent_id"] == agent_id and one["conversation_id"] == conversation_id and not one["is_err"]
        ]
        rows = [
            {**one, "content": one["content"] or _text(one), "text": None} for one in rows
        ]  # V1 shows the text of early releases as content
        return sorted(rows, key=lambda one: one["sequence_id"])

    def _messages(self, agent_id: str, query: Any) -> list[Row]:
        """A page of rows, always oldest first; `limit` counts rows, and a row is one or more messages. Cursors are
        chronological.
        """
        assert query.get("conversation_id") == "default", "without it the list has the rows of all conversations"
        self._agent(agent_id)
        rows = self._log(agent_id)
        for name in ("after", "before"):
            if query.get(name) and query[name] not in {one["id"] for one in rows}:
                raise Missing(f"No message found with id '{query[name]}' for agent '{agent_id}'.")
        if after := query.get("after"):
            rows = rows[[one["id"] for one in rows].index(after) + 1 :]
        limit = int(query.get("limit", 100))
        page = rows[:limit] if query.get("order") == "asc" else rows[-limit:]
        assert query.get("use_assistant_message") == "false", "the calls of send_message are shown as what they say"
        return [message for row in page for message in _shown(row)]

    def _export(self, agent_id: str, conversation_id: str | None) -> Any:
        """The window alone, with ids of the file. The agents of its group come along."""
        together = [
            agent_id,
            *(one for group in self.rows["groups"] if group["manager_agent_id"] == agent_id for one in group["agent_ids"]),
        ]
        if not set(self._agent(agent_id)["name"]) <= set(ALLOWED_IN_NAMES):
            return Response(500, json={"detail": "Export failed: Agent name contains invalid characters"})
        number, agents = 0, []
        for place, one in enumerate(together):
            agent, other = self._agent(one), conversation_id if one == agent_id else None
            rows = {row["id"]: row for row in self._log(one, other)}
            messages = []
            for message_id in self._conversation(other)["in_context_message_ids"] if other else agent["message_ids"]:
                messages.append(
                    {**_wire(rows[message_id]), "type": "message", "id": f"message-{number}", "agent_id": f"agent-{place}"}
                )
                number += 1
            agents.append(
                {
                    "id": f"agent-{place}",
                    "name": agent["name"],
                    "messages": messages,
                    "in_context_message_ids": [row["id"] for row in messages],
                }
            )
        return {
            "agents": agents,
            "groups": [],
            "blocks": [],
            "files": [],
            "sources": [],
            "tools": [],
            "mcp_servers": [],
            "metadata": {"revision_id": "x"},
        }

    def _desk(self, agent_id: str, query: Any) -> Row:
        """The cursor is set on the last page as well."""
        rows = [one for one in self.rows["files_agents"] if one["agent_id"] == agent_id and not query.get("after")]
        files = [{**_wire(one), "folder_id": one["source_id"], "folder_name": "papers"} for one in rows]
        return {"files": files, "next_cursor": files[-1]["id"] if files else None, "has_more": False}

    def _passages(self, agent_id: str, query: Any) -> list[Row]:
        held = {one["archive_id"] for one in self.rows["archives_agents"] if one["agent_id"] == agent_id}
        rows = [
            {**_wire(one), "metadata": one["metadata_"]} for one in self.rows["archival_passages"] if one["archive_id"] in held
        ]
        return _listed(rows, query, 100, "asc" if query.get("ascending", "true") == "true" else "desc")


def _identity(server: V1Server, row: Row) -> Row:
    blocks = [one["block_id"] for one in server.rows["identities_blocks"] if one["identity_id"] == row["id"]]
    return {**_wire(row), "block_ids": blocks, "agent_ids": []}


def _mcp_server(row: Row) -> Row:
    """The flat form, with the token that this server has a key for in clear."""
    told = {name: row[name] for name in ("id", "server_name", "server_url", "custom_headers")}
    return {
        **told,
        "mcp_server_type": row["server_type"],
        "auth_header": None,
        "auth_token": OPENED if row["token_enc"] else row["token"],
    }


def _group(_server: V1Server, row: Row) -> Row:
    return {**_wire(row), "shared_block_ids": []}


def _plain(_server: V1Server, row: Row) -> Row:
    return _wire(row)


LISTS: dict[str, tuple[str, str, Callable[[V1Server, Row], Row]]] = {
    "tools": ("tools", "desc", _plain),
    "blocks": ("block", "asc", _plain),
    "folders": ("sources", "asc", _plain),
    "archives": ("archives", "desc", _plain),
    "identities": ("identities", "asc", _identity),
    "groups": ("groups", "asc", _group),
}
"""Lists by the table, the usual order, and the shape of an entry."""


def _listed(rows: list[Row], query: Any, usual: int, order: str, *, lost: str = "refused") -> list[Row]:
    """A page of the generic lister: cursors are relative to the order."""
    ordered = sorted(rows, key=lambda one: str(one["created_at"]), reverse=query.get("order", order) == "desc")
    if after := query.get("after"):
        ids = [one["id"] for one in ordered]
        if after in ids:
            ordered = ordered[ids.index(after) + 1 :]
        elif lost == "refused":
            raise Missing(f"{after} not found")
    return ordered[: int(query.get("limit", usual))]


def _wire(row: Row) -> Row:
    kept = {
        name: value
        for name, value in row.items()
        if name not in ("organization_id", "is_deleted", "sequence_id", "metadata_", "embedding")
    }
    return {**kept, "metadata": row.get("metadata_")}


def _shown(row: Row) -> list[Row]:
    """The LettaMessages of a row (API 4.5)."""
    common = {
        "id": row["id"],
        "date": row["created_at"].isoformat(timespec="seconds"),
        "name": row["name"],
        "otid": row["otid"],
        "sender_id": row["sender_id"],
    }
    made: list[Row] = []
    for part in (row["content"] or ()) if row["role"] != "tool" else ():
        if part["type"] == "reasoning":
            made.append(
                {
                    **common,
                    "message_type": "reasoning_message",
                    "source": "reasoner_model",
                    "reasoning": part["reasoning"],
                    "signature": part["signature"],
                }
            )
        else:
            made.append({**common, "message_type": f"{row['role']}_message", "content": _unwrapped(part["text"])})
    if row["tool_calls"]:
        calls = [
            {"name": one["function"]["name"], "arguments": one["function"]["arguments"], "tool_call_id": one["id"]}
            for one in row["tool_calls"]
        ]
        kind = "approval_request_message" if row["role"] == "approval" else "tool_call_message"
        made.append({**common, "message_type": kind, "tool_call": calls[0], "tool_calls": calls})
    if row["role"] == "tool":
        returns = [{"type": "tool", "tool_return": one["func_response"], **one} for one in row["tool_returns"]]
        made.append({**common, "message_type": "tool_return_message", "tool_returns": returns, **returns[0]})
    return made


def _text(row: Row) -> list[Row] | None:
    return [{"type": "text", "text": row["text"]}] if row["text"] else None


def _unwrapped(text: str) -> str:
    try:
        return str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        return text


def _time(value: Any) -> str:
    return str(value.isoformat())
