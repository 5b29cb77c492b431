"""Authorizing MCP servers: a user authorizes at the server's authorization server, which answers by the callback.

The state is a secret of the user's browser. It names the tenant, and by its digest the flow of one server; it is answered once,
within ten minutes.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta

from hibernaut.domain.tools.mcp import oauth
from hibernaut.domain.tools.mcp.oauth import AuthorizationServer, OAuthClient, OAuthFault, ProtectedResource
from hibernaut.ports.storage.cipher import SealBroken
from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.ports.tools.oauth import OAuthUnreachable
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.mcp.oauth import FlowStatus, OAuthParties, OAuthSecrets, StoredOAuthFlow
from hibernaut.services.host import Host
from hibernaut.services.mcp.oauth_grants import OAuthGrants, OAuthVault, digest_of, tokens_of
from hibernaut.store.stores import TenantStores
from hibernaut.store.table.tenant_seals import SealPurpose, TenantSeals

LIFE = timedelta(minutes=10)
"""The time that a user has for the answer."""
NONE = "the authorization is unknown: it is for another server, or it ended more than an hour ago"
ANSWERED = "the authorization was answered before, or by another window"
EXPIRED = "the authorization has expired; connect the server again"
logger = logging.getLogger(__name__)


@immutable
class BegunFlow:
    """A flow that waits for its user. `address`: what the user opens. `digest`: by which its end is looked up."""

    address: str
    digest: str
    expires_at: datetime


class OAuthFlows:
    """The flows of one tenant."""

    def __init__(self, stores: TenantStores, host: Host, grants: OAuthGrants) -> None:
        self._tenant = stores.tenant
        self._store = stores.oauth
        self._writer = stores.writer
        self._http = host.oauth
        self._vault = OAuthVault(TenantSeals(stores.tenant, host.cipher))
        self._grants = grants
        self._clock = host.clock
        self._ids = host.ids

    def begin(self, server_url: str, challenge: str, callback: str) -> BegunFlow:
        """Prepare the authorization of a server that has refused a request with this challenge. Nothing is stored if it cannot be
        prepared.

        Raises: OAuthFault, OAuthUnreachable, MasterKeyUnavailable.
        """
        resource = self._resource(server_url, challenge)
        server = self._server(resource.servers[0])
        client = self._client(server, server_url, callback)
        state, verifier = f"{self._tenant}.{secrets.token_urlsafe(32)}", secrets.token_urlsafe(48)
        digest, scopes = digest_of(state), oauth.challenged(challenge).get("scope", "").split() or resource.scopes
        flow = StoredOAuthFlow(
            id=digest,
            server_url=server_url,
            resource=resource.resource,
            issuer=server.issuer,
            token_endpoint=server.token_endpoint,
            client_id=client.client_id,
            client_method=client.method,
            callback=callback,
            names_itself=server.names_itself,
            sealed=self._vault.seal(
                SealPurpose.MCP_OAUTH_FLOW, digest, OAuthSecrets(verifier=verifier, client_secret=client.secret)
            ),
            expires_at=self._clock.now() + LIFE,
        )
        token = self._ids.token()
        self._writer.write(self._store.begin(flow, token), token=token)
        address = oauth.authorization_address(
            server, client, callback=callback, state=state, verifier=verifier, resource=resource.resource, scopes=scopes
        )
        return BegunFlow(address, digest, flow.expires_at)

    def _resource(self, server_url: str, challenge: str) -> ProtectedResource:
        for address in oauth.resource_addresses(server_url, challenge):
            answer = self._http.get(address)
            if answer.is_ok and answer.body is not None:
                return oauth.resource_in(answer.body, server_url)
        raise OAuthFault("it names no authorization server (RFC 9728); give it a token instead")

    def _server(self, issuer: str) -> AuthorizationServer:
        for address in oauth.server_addresses(issuer):
            answer = self._http.get(address)
            if answer.is_ok and answer.body is not None:
                return oauth.server_in(answer.body, issuer)
        raise OAuthFault(f"its authorization server {issuer[:200]} has no metadata (RFC 8414)")

    def _client(self, server: AuthorizationServer, server_url: str, callback: str) -> OAuthClient:
        """This deployment as a client: the existing registration for the same server, or a new one."""
        registered = self._grants.known(server_url)
        if registered is not None and (registered.issuer, registered.callback) == (server.issuer, callback):
            try:
                return OAuthClient(registered.client_id, self._grants.client_secret(registered), registered.client_method)
            except SealBroken:
                logger.warning("client of an authorization server cannot be decrypted")
        if server.registration_endpoint is None:
            raise OAuthFault(
                "its authorization server registers no clients by itself (RFC 7591); give the server a token instead"
            )
        answer = self._http.register(server.registration_endpoint, oauth.registration(callback))
        if not answer.is_ok:
            raise OAuthFault(f"its authorization server refuses the registration: {oauth.error_in(answer.body, answer.status)}")
        return oauth.client_in(answer.body)

    def look(self, digest: str) -> tuple[FlowStatus, str | None]:
        """What has become of a flow, and why it has failed."""
        flow = self._store.flow(digest)
        if flow is None:
            return "failed", NONE
        if flow.status == "pending" and flow.expires_at <= self._clock.now():
            return "failed", EXPIRED
        return flow.status, flow.fault

    def answer(self, state: str, parameters: Mapping[str, str]) -> None:
        """Take the answer of a user, and exchange its code for tokens. Raises: OAuthFault."""
        flow = self._store.flow(digest_of(state))
        if flow is None:
            raise OAuthFault(NONE)
        if flow.status != "pending":
            raise OAuthFault(ANSWERED)
        exchanging = self._moved(flow, "exchanging")
        if exchanging is None:
            raise OAuthFault(ANSWERED)
        try:
            self._exchange(exchanging, parameters)
        except (OAuthFault, OAuthUnreachable) as fault:
            self._moved(exchanging, "failed", str(fault))
            raise OAuthFault(str(fault)) from None
        except BaseException:  # on any failure: the code is spent, and those who wait for the flow must see its end
            self._moved(exchanging, "failed", "the tokens could not be stored; connect the server again")
            raise
        self._moved(exchanging, "authorized")

    def _exchange(self, flow: StoredOAuthFlow, parameters: Mapping[str, str]) -> None:
        if flow.expires_at <= self._clock.now():
            raise OAuthFault(EXPIRED)
        issuer = parameters.get("iss")
        if (issuer is None and flow.names_itself) or (issuer is not None and issuer != flow.issuer):
            raise OAuthFault("the answer comes from another authorization server than the one that was asked (RFC 9207)")
        if "error" in parameters:
            raise OAuthFault(f"the authorization was refused: {oauth.error_in(dict(parameters), 302).partition(', ')[2]}")
        code = parameters.get("code")
        if not code:
            raise OAuthFault("the answer has no code")
        flow_secrets = self._opened(flow)
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": flow.callback,
            "code_verifier": flow_secrets.verifier or "",
            "resource": flow.resource,
        }
        tokens = tokens_of(self._http, flow, form, flow_secrets.client_secret)
        parties = OAuthParties(**{name: getattr(flow, name) for name in OAuthParties.model_fields})
        try:
            self._grants.keep(parties, tokens, flow_secrets.client_secret)
        except ConditionFailed:
            raise OAuthFault("another authorization of the server was stored at the same time; it holds") from None

    def _opened(self, flow: StoredOAuthFlow) -> OAuthSecrets:
        try:
            return self._vault.open(SealPurpose.MCP_OAUTH_FLOW, flow.id, flow.sealed)
        except SealBroken:
            raise OAuthFault("the authorization cannot be decrypted; connect the server again") from None

    def _moved(self, flow: StoredOAuthFlow, status: FlowStatus, fault: str | None = None) -> StoredOAuthFlow | None:
        """The flow in its new status, without its secrets once it has ended; None if another request has moved it first."""
        cleared = {} if status == "exchanging" else {"sealed": ""}
        after = flow.model_copy(update={"status": status, "fault": fault, **cleared})
        token = self._ids.token()
        try:
            self._writer.write(self._store.move(flow, after, token), token=token)
        except ConditionFailed:
            return None
        return after.model_copy(update={"version": flow.version + 1})


def tenant_in(state: str) -> str | None:
    """The tenant that a state names; None if it is no state."""
    tenant, dot, secret = state.partition(".")
    return tenant if dot and len(secret) == 43 and len(tenant) <= 40 else None
