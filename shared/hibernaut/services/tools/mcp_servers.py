"""MCP servers: create, list, change, delete and refresh them, and run their tools on request (Letta V1 API, API 2.14).

Secrets are encrypted before they are stored and never returned. A stored secret is sent only to the address for which its owner
set it: a new address requires the secrets again.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import cast
from urllib.parse import urlsplit

from hibernaut.domain.tools.mcp import mcp_tools
from hibernaut.domain.tools.mcp.mcp_results import McpListing
from hibernaut.domain.web_addresses import address_fault
from hibernaut.ports.storage.cipher import SealBroken
from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.ports.tools.mcp import Mcp, McpFailure
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import Conflict, InvalidArgument, NotFound
from hibernaut.schemas.mcp.faults import McpServerUnavailable
from hibernaut.schemas.mcp.server import (
    MASK,
    MOST_SERVERS,
    CreateMcpServer,
    McpRefresh,
    McpSecrets,
    McpServerType,
    StoredMcpServer,
    UpdateMcpServer,
)
from hibernaut.schemas.tools.tool import StoredTool, ToolExecutionResult
from hibernaut.services.mcp.mcp_targets import McpTargets
from hibernaut.services.records import Records
from hibernaut.services.tool_calls.mcp_calls import McpCalls
from hibernaut.services.tools.mcp_sync import McpSyncs
from hibernaut.services.tools.tools import Tools
from hibernaut.store.mcp.mcp_servers import McpServerStore

LIST_SECONDS = 30.0
"""The time limit of a listing, with its connection."""
logger = logging.getLogger(__name__)


class McpServers:
    """The use cases of one tenant's MCP servers. `seconds`: the time limit of a call on request."""

    def __init__(
        self,
        records: Records,
        store: McpServerStore,
        mcp: Mcp,
        *,
        targets: McpTargets,
        tools: Tools,
        calls: McpCalls,
        seconds: float,
    ) -> None:
        self._records = records
        self._store = store
        self._mcp = mcp
        self._targets = targets
        self._tools = tools
        self._calls = calls
        self._seconds = seconds
        self._syncs = McpSyncs(records, store)

    def create(self, request: CreateMcpServer, *, user: str | None = None) -> StoredMcpServer:
        """Add a server and read its tools. If they cannot be read, the server is added all the same, and `last_sync` has the
        reason.

        Raises: InvalidArgument, Conflict (the name is taken), MasterKeyUnavailable.
        """
        if self._store.count() >= MOST_SERVERS:
            raise InvalidArgument(f"INVALID_ARGUMENT: There are at most {MOST_SERVERS} MCP servers. Delete one that is not used.")
        server, token = self._new(request), self._records.ids.token()
        try:
            self._records.writer.write(*self._store.create(server, token), token=token)
        except ConditionFailed:
            raise self._name_conflict(request.server_name) from None
        return self._synced(server, user)

    def tried(self, request: CreateMcpServer) -> McpListing:
        """The tools of a server that is not stored. Raises: InvalidArgument, McpServerUnavailable, MasterKeyUnavailable."""
        return self.listing(self._new(request))

    def _new(self, request: CreateMcpServer) -> StoredMcpServer:
        now = self._records.clock.now()
        blank = StoredMcpServer(
            id=self._records.ids.new("mcp_server"),
            server_name=request.server_name,
            mcp_server_type=McpServerType(request.config.mcp_server_type),
            default_requires_approval=request.default_requires_approval,
            created_at=now,
            updated_at=now,
        )
        return self._configured(blank, request.config.model_dump(exclude_none=True), McpSecrets())

    def _synced(self, server: StoredMcpServer, user: str | None) -> StoredMcpServer:
        """The server after its tools were read, if they could be."""
        try:
            self._syncs.store(server.id, self.listing(server), user)
        except McpServerUnavailable as error:
            self._syncs.note_failure(server.id, error.detail)
        return self.retrieve(server.id)

    def retrieve(self, server_id: str) -> StoredMcpServer:
        """The server. Raises: NotFound."""
        server = self._store.get(server_id)
        if server is None:
            raise NotFound(f"MCP server not found with id='{server_id}'")
        return server

    def named(self, name: str) -> StoredMcpServer:
        """The server with this name. Raises: NotFound."""
        server = self._store.named(name)
        if server is None:
            raise NotFound(f"MCP server not found with name='{name}'")
        return server

    def list(self) -> Sequence[StoredMcpServer]:
        """All servers, oldest first."""
        return self._store.all()

    def update(self, server_id: str, request: UpdateMcpServer, *, user: str | None = None) -> StoredMcpServer:
        """Apply the fields that are not null, to the server's tools too. Raises: NotFound, InvalidArgument, Conflict,
        MasterKeyUnavailable.
        """

        def attempt() -> StoredMcpServer:
            before = self.retrieve(server_id)
            after = before
            if request.config is not None:
                config_fields = {
                    name: each for name, each in request.config.model_dump(exclude_unset=True).items() if each is not None
                }
                kind = McpServerType(request.config.mcp_server_type)
                programs = [each is McpServerType.STDIO for each in (kind, before.mcp_server_type)]
                secrets = self._secrets(before) if programs[0] is programs[1] else McpSecrets()
                after = self._configured(before.model_copy(update={"mcp_server_type": kind}), config_fields, secrets)
            request_fields = {name: getattr(request, name) for name in ("server_name", "default_requires_approval")}
            changes = {name: value for name, value in request_fields.items() if value is not None}
            after = after.model_copy(update={**changes, "updated_at": self._records.clock.now()})
            if after.server_name != before.server_name and self._store.named(after.server_name) is not None:
                raise self._name_conflict(after.server_name)
            token = self._records.ids.token()
            self._records.writer.write(*self._store.change(before, after, token), token=token)
            if changes:
                self._retell(after, approval="default_requires_approval" in changes, user=user)
            return after

        return self._records.until_settled(attempt)

    def _retell(self, server: StoredMcpServer, *, approval: bool, user: str | None) -> None:
        """Write the name of a server, and its default for approvals, to its tools."""
        for tool_id in server.tools.values():
            self._records.until_settled(lambda tool_id=tool_id: self._retold(tool_id, server, approval=approval, user=user))  # type: ignore[misc]

    def _retold(self, tool_id: str, server: StoredMcpServer, *, approval: bool, user: str | None) -> None:
        tool = self._records.tools.get(tool_id)
        if tool is None:
            return
        facts = mcp_tools.facts_of(tool)
        facts_metadata = {"mcp": {**facts.metadata()["mcp"], "server_name": server.server_name}}
        tags = [f"{mcp_tools.TAG}{server.server_name}", *(tag for tag in tool.tags if not tag.startswith(mcp_tools.TAG))]
        changes: JsonObject = {
            "metadata_": {**(tool.metadata_ or {}), **facts_metadata},
            "tags": tags,
            "last_updated_by_id": user,
        }
        if approval:
            changes["default_requires_approval"] = server.default_requires_approval
        token = self._records.ids.token()
        self._records.writer.write(*self._records.tools.change(tool, tool.model_copy(update=changes), token), token=token)

    def delete(self, server_id: str, *, key_id: str | None = None) -> None:
        """Delete a server with its secrets and its tools, which are detached from their agents. `key_id`: the caller's API key.

        Raises: NotFound, Conflict.
        """

        def attempt() -> None:
            server = self.retrieve(server_id)
            for tool_id in server.tools.values():
                try:
                    self._tools.delete(tool_id, key_id=key_id)
                except NotFound:
                    continue  # deleted by itself, or by an earlier attempt
            self._records.writer.write(*self._store.delete(server))
            if server.server_url and not any(each.server_url == server.server_url for each in self._store.all()):
                self._targets.grants.forget(server.server_url)

        self._records.until_settled(attempt)

    def refresh(self, server_id: str, *, agent_id: str | None = None, user: str | None = None) -> McpRefresh:
        """Read the tools of a server again. `agent_id`: whose secrets fill the variables in its headers.

        Raises: NotFound, McpServerUnavailable, Conflict.
        """
        server = self.retrieve(server_id)
        try:
            listing = self.listing(server, agent_id)
        except McpServerUnavailable as error:
            self._syncs.note_failure(server_id, error.detail)
            raise
        return self._syncs.store(server_id, listing, user)

    def listing(self, server: StoredMcpServer, agent_id: str | None = None) -> McpListing:
        """The tools that a server lists now. Raises: McpServerUnavailable, NotFound (the agent)."""
        agent = self._records.agent(agent_id) if agent_id else None
        variables = self._records.secrets.values(agent.id, agent.secrets) if agent else {}
        try:
            target = self._targets.of(server, agent_id=agent_id, variables=variables)
            return self._mcp.tools(target, seconds=LIST_SECONDS)
        except McpFailure as failure:
            extra = {"mcp_server_id": server.id, "problem": failure.problem}
            logger.warning("tools of an MCP server cannot be read", extra=extra)
            raise unusable(server.server_name, failure) from failure

    def tools(self, server_id: str) -> Sequence[StoredTool]:
        """The stored tools of a server, in the order of its listing. Raises: NotFound."""
        server = self.retrieve(server_id)
        found = self._records.tools.get_many(list(server.tools.values()))
        return [found[tool_id] for tool_id in server.tools.values() if tool_id in found]

    def tool(self, server_id: str, tool_id: str) -> StoredTool:
        """A tool of a server. Raises: NotFound, also for a tool of another server."""
        if tool_id not in self.retrieve(server_id).tools.values():
            raise NotFound(f"Tool with id {tool_id} not found on the MCP server {server_id}")
        return self._records.tool(tool_id)

    def run(self, server_id: str, tool_id: str, args: JsonObject, *, key_id: str | None = None) -> ToolExecutionResult:
        """Call a tool of a server once, without an agent. A failure is a result with the status error, and so is what a tool
        policy does not allow.
        Raises: NotFound.
        """
        tool = self.tool(server_id, tool_id)
        refusal = self._tools.runs.policies.direct(tool, tool.name or "", args, None, key_id)
        if refusal is not None:
            return ToolExecutionResult(status="error", stdout=[], stderr=[refusal])
        result = self._calls.call_once(tool, args, self._seconds)
        stderr = [result.error] if result.error else []
        return ToolExecutionResult(status=result.status, func_return=result.value, stdout=[], stderr=stderr)

    def _configured(self, server: StoredMcpServer, fields: JsonObject, stored: McpSecrets) -> StoredMcpServer:
        """The server with the fields of a configuration. `stored`: its stored secrets. Raises: InvalidArgument,
        MasterKeyUnavailable.
        """
        plain = ("server_url", "auth_header", "command", "args")
        after = server.model_copy(update={name: fields[name] for name in plain if name in fields})
        self._check_target(after)
        secrets = _merged(stored, fields)
        target_changed = _place(server) not in ("", _place(after)) and _keeps(stored, secrets)
        if target_changed:
            raise InvalidArgument(
                "INVALID_ARGUMENT: Send the token, the headers or the variables again with a new address or command: stored ones are not sent elsewhere."
            )
        secret_fields = {
            "has_token": bool(secrets.token),
            "header_names": list(secrets.headers),
            "env_names": list(secrets.env),
            "sealed": self._targets.vault.seal(server.id, secrets),
        }
        return after.model_copy(update=secret_fields)

    def _check_target(self, server: StoredMcpServer) -> None:
        if server.mcp_server_type is McpServerType.STDIO:
            if not server.command:
                raise InvalidArgument("INVALID_ARGUMENT: A server of the type stdio needs a command.")
            return
        try:
            parts = urlsplit(server.server_url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            raise InvalidArgument("INVALID_ARGUMENT: server_url is not an address like https://example.com/mcp.") from None
        if fault := address_fault(parts.scheme, host, port, user=parts.username is not None or parts.password is not None):
            raise InvalidArgument(f"INVALID_ARGUMENT: server_url {fault}.")

    def _secrets(self, server: StoredMcpServer) -> McpSecrets:
        """The stored secrets; none if they cannot be opened any more, so that they can be set anew. Raises:
        MasterKeyUnavailable.
        """
        try:
            return self._targets.vault.open(server)
        except SealBroken:
            return McpSecrets()

    def _name_conflict(self, name: str) -> Conflict:
        return Conflict(f"CONFLICT: There is an MCP server with the name {name!r} already.")


def unusable(name: str, failure: McpFailure) -> McpServerUnavailable:
    """The error of a request for which a server could not be used."""
    return McpServerUnavailable(f"The MCP server {name} cannot be used: {failure}.", name, str(failure))


def _merged(stored: McpSecrets, fields: JsonObject) -> McpSecrets:
    """The secrets after a request, in which a mask stands for a stored one."""
    token = stored.token if fields.get("auth_token", MASK) == MASK else str(fields["auth_token"])
    return McpSecrets(
        token=token or None,
        headers=_unmasked(stored.headers, fields.get("custom_headers")),
        env=_unmasked(stored.env, fields.get("env")),
    )


def _unmasked(stored: dict[str, str], values: object) -> dict[str, str]:
    if values is None:
        return stored
    texts = cast("dict[str, str]", values)
    return {name: stored[name] if value == MASK and name in stored else value for name, value in texts.items()}


def _keeps(before: McpSecrets, after: McpSecrets) -> bool:
    """Whether a stored secret stays."""
    if before.token is not None and before.token == after.token:
        return True
    earlier = {**before.headers, **before.env}
    return any(earlier.get(name) == value for name, value in {**after.headers, **after.env}.items())


def _place(server: StoredMcpServer) -> str:
    """Where a server's secrets go: the origin of its address, or its command."""
    if server.mcp_server_type is McpServerType.STDIO:
        return "\0".join((server.command, *server.args)) if server.command else ""
    parts = urlsplit(server.server_url)
    return f"{parts.scheme}://{parts.netloc.lower()}" if server.server_url else ""
