"""The access tokens of MCP servers that users have authorized. A token that expires is replaced by one process, even if several
call at the same time.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable
from datetime import datetime, timedelta

from hibernaut.domain.tools.mcp.oauth import OAuthFault, Tokens, error_in, tokens_in
from hibernaut.ports.storage.cipher import SealBroken
from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.ports.tools.mcp import McpFailure
from hibernaut.ports.tools.oauth import OAuthHttp, OAuthUnreachable
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.mcp.oauth import OAuthParties, OAuthSecrets, StoredOAuthGrant
from hibernaut.services.host import Host
from hibernaut.store.stores import TenantStores
from hibernaut.store.table.tenant_seals import SealPurpose, TenantSeals

EARLY = timedelta(seconds=60)
"""The time before its expiry at which a token is replaced."""
LEASE = timedelta(seconds=30)
"""The time for which one process may ask for a new token before another one does."""
PATIENCE, PAUSE = 20.0, 0.25
"""Seconds for which a call without a usable token waits for another process, and between two looks."""
CONNECT_AGAIN = "its authorization {why}; connect it again by GET /v1/mcp-servers/connect/{{mcp_server_id}}"
logger = logging.getLogger(__name__)


class OAuthVault:
    """Encrypts and decrypts the secrets of authorizations."""

    def __init__(self, seals: TenantSeals) -> None:
        self._seals = seals

    def seal(self, purpose: SealPurpose, digest: str, secrets: OAuthSecrets) -> str:
        """The encrypted secrets in base64. Raises: MasterKeyUnavailable, NotImplementedHere."""
        plain = secrets.model_dump_json(exclude_defaults=True).encode()
        return self._seals.seal(plain, purpose, digest)

    def open(self, purpose: SealPurpose, digest: str, sealed: str) -> OAuthSecrets:
        """The secrets. Raises: SealBroken, MasterKeyUnavailable, NotImplementedHere."""
        return OAuthSecrets.model_validate_json(self._seals.open(sealed, purpose, digest))


def digest_of(text: str) -> str:
    """The name of an address, or of a state, in keys."""
    return hashlib.sha256(text.encode()).hexdigest()


class OAuthGrants:
    """The grants of one tenant."""

    def __init__(self, stores: TenantStores, host: Host) -> None:
        self._store = stores.oauth
        self._writer = stores.writer
        self._vault = OAuthVault(TenantSeals(stores.tenant, host.cipher))
        self._http = host.oauth
        self._clock = host.clock
        self._ids = host.ids

    def keep(self, parties: OAuthParties, tokens: Tokens, client_secret: str | None) -> None:
        """Store the tokens of an authorization in place of older ones. Raises: MasterKeyUnavailable; ConditionFailed if another
        one is stored now.
        """
        before = self._store.grant(digest_of(parties.server_url))
        secrets = OAuthSecrets(client_secret=client_secret, access=tokens.access, refresh=tokens.refresh)
        after = self._granted(parties, secrets, tokens)
        self._write(before, after)

    def forget(self, server_url: str) -> None:
        """Delete the tokens for an address."""
        grant = self._store.grant(digest_of(server_url))
        if grant is not None:
            self._writer.write(self._store.forget(grant))

    def known(self, server_url: str) -> StoredOAuthGrant | None:
        """The grant for an address, or None."""
        return self._store.grant(digest_of(server_url))

    def client_secret(self, grant: StoredOAuthGrant) -> str | None:
        """The secret of the client of a grant. Raises: SealBroken, MasterKeyUnavailable."""
        return self._vault.open(SealPurpose.MCP_OAUTH_GRANT, grant.id, grant.sealed).client_secret

    def token(self, server_url: str) -> str | None:
        """The access token for an address; None if nobody has authorized anything there. Raises: McpFailure."""
        until = self._clock.monotonic() + PATIENCE
        while True:
            grant = self._store.grant(digest_of(server_url))
            if grant is None:
                return None
            now = self._clock.now()
            usable = grant.expires_at > now
            if grant.fault is not None and not usable:
                raise McpFailure("unauthorized", CONNECT_AGAIN.format(why=grant.fault))
            if grant.fault is not None or grant.expires_at - EARLY > now:
                return self._opened(grant).access
            if grant.refreshing_until is None or grant.refreshing_until <= now:
                replaced = self._replaced(grant, now)
                if replaced is not None:
                    return replaced
            elif usable:
                return self._opened(grant).access
            elif self._clock.monotonic() >= until:
                raise McpFailure("timeout", "another process is renewing its access token and has not finished; try again")
            else:
                self._clock.sleep(PAUSE)

    def _replaced(self, grant: StoredOAuthGrant, now: datetime) -> str | None:
        """A new access token; None if another process requests one, or the stored grant has the outcome. Raises: McpFailure."""
        secrets = self._opened(grant)
        if secrets.refresh is None:
            self._tried(grant, grant.model_copy(update={"fault": "has expired"}))
            return None
        leased = self._tried(grant, grant.model_copy(update={"refreshing_until": now + LEASE}))
        if leased is None:
            return None
        try:
            tokens = self._request_tokens(leased, secrets)
        except OAuthUnreachable as error:
            self._tried(leased, leased.model_copy(update={"refreshing_until": None}))
            if leased.expires_at > now:
                return secrets.access
            raise McpFailure("unreachable", f"its authorization server gives no new access token: {error}") from None
        except OAuthFault as fault:
            logger.info("authorization of an MCP server not renewed", extra={"fault": str(fault)[:100]})
            self._tried(leased, leased.model_copy(update={"refreshing_until": None, "fault": f"was not renewed ({fault})"}))
            return None
        renewed = OAuthSecrets(
            client_secret=secrets.client_secret, access=tokens.access, refresh=tokens.refresh or secrets.refresh
        )
        self._tried(leased, self._granted(leased, renewed, tokens))
        return tokens.access

    def _request_tokens(self, grant: StoredOAuthGrant, secrets: OAuthSecrets) -> Tokens:
        """New tokens for a refresh token (RFC 6749, 6). Raises: OAuthFault, OAuthUnreachable."""
        form = {"grant_type": "refresh_token", "refresh_token": secrets.refresh or "", "resource": grant.resource}
        return tokens_of(self._http, grant, form, secrets.client_secret)

    def _granted(self, parties: OAuthParties, secrets: OAuthSecrets, tokens: Tokens) -> StoredOAuthGrant:
        digest = digest_of(parties.server_url)
        return StoredOAuthGrant(
            **{name: getattr(parties, name) for name in OAuthParties.model_fields},
            id=digest,
            sealed=self._vault.seal(SealPurpose.MCP_OAUTH_GRANT, digest, secrets),
            expires_at=self._clock.now() + timedelta(seconds=tokens.seconds),
        )

    def _opened(self, grant: StoredOAuthGrant) -> OAuthSecrets:
        try:
            return self._vault.open(SealPurpose.MCP_OAUTH_GRANT, grant.id, grant.sealed)
        except SealBroken:
            raise McpFailure("unauthorized", CONNECT_AGAIN.format(why="cannot be decrypted")) from None

    def _tried(self, before: StoredOAuthGrant, after: StoredOAuthGrant) -> StoredOAuthGrant | None:
        """The stored grant; None if another process has changed it first."""
        try:
            return self._write(before, after)
        except ConditionFailed:
            return None

    def _write(self, before: StoredOAuthGrant | None, after: StoredOAuthGrant) -> StoredOAuthGrant:
        token = self._ids.token()
        change, stored_grant = self._store.keep(before, after, token)
        self._writer.write(change, token=token)
        return stored_grant


def tokens_of(http: OAuthHttp, parties: OAuthParties, form: dict[str, str], secret: str | None) -> Tokens:
    """The answer of a token endpoint, with the client's method of authentication (RFC 6749, 2.3.1). Raises: OAuthFault,
    OAuthUnreachable.
    """
    basic = None
    if parties.client_method == "client_secret_basic":
        basic = (parties.client_id, secret or "")
    else:
        form = {**form, "client_id": parties.client_id}
        if parties.client_method == "client_secret_post":
            form["client_secret"] = secret or ""
    answer = http.token(parties.token_endpoint, form, basic)
    if not answer.is_ok:
        secrets = (secret, *(form.get(name) for name in ("code", "code_verifier", "refresh_token")))
        raise OAuthFault(f"the token endpoint refuses: {error_in(_without(answer.body, secrets), answer.status)}")
    return tokens_in(answer.body)


def _without(body: Json, secrets: Iterable[str | None]) -> JsonObject:
    """The texts of an answer without what it repeats of the request."""
    found = {name: text for name, text in body.items() if isinstance(text, str)} if isinstance(body, dict) else {}
    for secret in filter(None, secrets):
        found = {name: text.replace(secret, "***") for name, text in found.items()}
    return found
