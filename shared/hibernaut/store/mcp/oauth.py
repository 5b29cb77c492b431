"""Authorizations of MCP servers in the table: the pending requests to users, and the grants.

This module has reads and single changes. It must not know how secrets are encrypted.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from hibernaut.ports.storage.table import ABSENT, Change, Delete, Item, Put, Update, eq
from hibernaut.schemas.mcp.oauth import StoredOAuthFlow, StoredOAuthGrant
from hibernaut.store.mcp.oauth_keys import oauth_flow, oauth_grant
from hibernaut.store.table.bodies.codec import Codec, freed
from hibernaut.store.table.tenant_table import TenantTable

RETENTION = timedelta(hours=1)
"""The time for which a flow can be read after its end, by waiting clients."""


class OAuthStore:
    """The authorizations of one tenant. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob cannot be
    read.
    """

    def __init__(self, table: TenantTable, codec: Codec) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec

    def flow(self, digest: str) -> StoredOAuthFlow | None:
        """The flow with this digest of its state, or None."""
        item = self._table.get(oauth_flow(self._tenant, digest))
        return self._codec.record(StoredOAuthFlow, item) if item else None

    def begin(self, flow: StoredOAuthFlow, token: str) -> Put:
        """The change that creates a flow."""
        key = oauth_flow(self._tenant, flow.id)
        ttl = _seconds(flow.expires_at + RETENTION)
        return Put(self._codec.item(key, flow, version=flow.version, ttl=ttl, wt=token), ABSENT)

    def move(self, before: StoredOAuthFlow, after: StoredOAuthFlow, token: str) -> Update:
        """The change of a flow. Condition: its version is that of `before`."""
        key = oauth_flow(self._tenant, before.id)
        record = after.model_copy(update={"version": before.version + 1})
        attributes = {**self._codec.body(key, record), "version": record.version, "wt": token}
        return Update(key, set=attributes, when=eq(version=before.version), frees=freed(key, before))

    def grant(self, digest: str) -> StoredOAuthGrant | None:
        """The grant for the address with this digest, or None."""
        item = self._table.get(oauth_grant(self._tenant, digest))
        return self._granted(item) if item else None

    def _granted(self, item: Item) -> StoredOAuthGrant:
        return self._codec.record(StoredOAuthGrant, item)

    def keep(self, before: StoredOAuthGrant | None, after: StoredOAuthGrant, token: str) -> tuple[Change, StoredOAuthGrant]:
        """The change that stores a grant in place of `before`, and the stored grant. Condition: the version is that of `before`,
        or there is none.
        """
        key = oauth_grant(self._tenant, after.id)
        if before is None:
            return Put(self._codec.item(key, after, version=after.version, wt=token), ABSENT), after
        record = after.model_copy(update={"version": before.version + 1})
        attributes = {**self._codec.body(key, record), "version": record.version, "wt": token}
        return Update(key, set=attributes, when=eq(version=before.version), frees=freed(key, before)), record

    def forget(self, grant: StoredOAuthGrant) -> Delete:
        """The change that deletes a grant with its tokens. Condition: its version."""
        key = oauth_grant(self._tenant, grant.id)
        return Delete(key, eq(version=grant.version), freed(key, grant))


def _seconds(moment: datetime) -> int:
    return int(moment.timestamp())
