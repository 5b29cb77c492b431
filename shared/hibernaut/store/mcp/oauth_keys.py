"""The keys of authorizations of MCP servers (`store.mcp.oauth`).

pk              sk             what                                                             read by
t#OAUTHGRANTS   address digest the tokens for the servers at one address                        each session with such a server
t#OAUTHFLOWS    state digest   a pending authorization of a user (ttl)                         the callback; waiting clients
"""

from __future__ import annotations

from hibernaut.ports.storage.table import Key
from hibernaut.store.table.tenants import checked


def oauth_grant(tenant: str, digest: str) -> Key:
    return Key(f"{checked(tenant)}#OAUTHGRANTS", digest)


def oauth_flow(tenant: str, digest: str) -> Key:
    return Key(f"{checked(tenant)}#OAUTHFLOWS", digest)
