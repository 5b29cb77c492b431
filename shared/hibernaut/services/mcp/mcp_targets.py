"""How an MCP server is reached: its record, with its secrets opened, as the target of a session.

Secrets are sealed for their place (decision 26): one value for each server, which opens in no other record or tenant.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace

from hibernaut.domain.tools.mcp.mcp_tools import resolved
from hibernaut.ports.storage.cipher import SealBroken
from hibernaut.ports.tools.mcp import HttpMcpTarget, McpFailure, McpTarget, StdioMcpTarget
from hibernaut.schemas.errors import MasterKeyUnavailable
from hibernaut.schemas.mcp.server import McpSecrets, McpServerType, StoredMcpServer
from hibernaut.services.mcp.oauth_grants import OAuthGrants
from hibernaut.store.table.tenant_seals import SealPurpose, TenantSeals

AGENT_HEADER = "x-agent-id"
AUTHORIZATION = "authorization"
logger = logging.getLogger(__name__)


class McpVault:
    """Encrypts and decrypts the secrets of a tenant's servers."""

    def __init__(self, seals: TenantSeals) -> None:
        self._seals = seals

    def seal(self, server_id: str, secrets: McpSecrets) -> str | None:
        """The encrypted secrets in base64; None without any. Raises: MasterKeyUnavailable, NotImplementedHere."""
        if not secrets:
            return None
        plain = secrets.model_dump_json(exclude_defaults=True).encode()
        return self._seals.seal(plain, SealPurpose.MCP_SERVER, server_id)

    def open(self, server: StoredMcpServer) -> McpSecrets:
        """The secrets of a server. Raises: SealBroken, MasterKeyUnavailable, NotImplementedHere."""
        if server.sealed is None:
            return McpSecrets()
        return McpSecrets.model_validate_json(self._seals.open(server.sealed, SealPurpose.MCP_SERVER, server.id))


class McpTargets:
    """The targets of one tenant's servers."""

    def __init__(self, vault: McpVault, grants: OAuthGrants) -> None:
        self.vault = vault
        self.grants = grants

    def of(
        self, server: StoredMcpServer, *, agent_id: str | None = None, variables: Mapping[str, str] | None = None
    ) -> McpTarget:
        """The target of a server. `variables` replace the `{{ NAME }}` in its secrets: those of the agent that calls; `agent_id`
        is sent to the server.

        A server without credentials of its own gets the access token that a user has granted. Raises: McpFailure if the secrets
        cannot be opened, or name a variable without a value, or the grant has come to its end.
        """
        try:
            secrets = self.vault.open(server)
        except SealBroken as error:
            logger.warning("secrets of an MCP server cannot be opened", extra={"mcp_server_id": server.id})
            raise McpFailure("unauthorized", "its stored secrets cannot be decrypted; set them again") from error
        except MasterKeyUnavailable as error:
            raise McpFailure("unreachable", f"its stored secrets cannot be read now. {error.detail}") from error
        target = target_of(server, secrets, agent_id=agent_id, variables=variables or {})
        if isinstance(target, StdioMcpTarget) or AUTHORIZATION in target.headers:
            return target
        token = self.grants.token(server.server_url)
        return target if token is None else replace(target, headers={**target.headers, AUTHORIZATION: f"Bearer {token}"})


def target_of(server: StoredMcpServer, secrets: McpSecrets, *, agent_id: str | None, variables: Mapping[str, str]) -> McpTarget:
    """The target of a server with these secrets. Raises: McpFailure for a variable without a value."""
    if server.mcp_server_type is McpServerType.STDIO:
        env = {name: _filled(value, name, variables) for name, value in secrets.env.items()}
        return StdioMcpTarget(server.command, tuple(server.args), env)
    headers = {name.lower(): _filled(value, name, variables) for name, value in secrets.headers.items()}
    if secrets.token:
        name = (server.auth_header or AUTHORIZATION).lower()
        headers.setdefault(name, _credentials(name, _filled(secrets.token, name, variables)))
    if agent_id is not None:
        headers[AGENT_HEADER] = agent_id
    older = server.mcp_server_type is McpServerType.SSE
    return HttpMcpTarget(server.server_url, "sse" if older else "streamable_http", headers)


def _credentials(header: str, token: str) -> str:
    """A token for `Authorization` is a bearer's, unless it names another scheme."""
    return token if header != AUTHORIZATION or " " in token.strip() else f"Bearer {token}"


def _filled(value: str, name: str, variables: Mapping[str, str]) -> str:
    try:
        return resolved(value, variables)
    except KeyError as missing:
        raise McpFailure(
            "unauthorized",
            f"its setting {name} needs the variable {missing.args[0]}, which is not among the secrets of the agent",
        ) from None
