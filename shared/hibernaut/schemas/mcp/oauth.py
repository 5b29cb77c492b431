"""Authorizations of MCP servers by OAuth: what is stored while a user decides, and afterwards. Secrets are sealed, in one
value.
"""

from typing import Literal

from pydantic import Field

from hibernaut.schemas.base import Moment, Schema
from hibernaut.schemas.stored import Stored

FlowStatus = Literal["pending", "exchanging", "authorized", "failed"]


class OAuthSecrets(Schema):
    """What a record seals."""

    verifier: str | None = Field(default=None, repr=False)
    client_secret: str | None = Field(default=None, repr=False)
    access: str | None = Field(default=None, repr=False)
    refresh: str | None = Field(default=None, repr=False)


class OAuthParties(Schema):
    """The parties of an authorization. A client is registered with one issuer, for one callback address."""

    server_url: str
    resource: str
    issuer: str
    token_endpoint: str
    client_id: str
    client_method: str
    callback: str


class StoredOAuthFlow(Stored, OAuthParties):
    """A pending authorization request to a user. `id`: the digest of its state. `names_itself`: the answer must name the
    issuer.
    """

    id: str
    status: FlowStatus = "pending"
    names_itself: bool = False
    fault: str | None = None
    sealed: str = Field(repr=False)
    expires_at: Moment
    version: int = 1


class StoredOAuthGrant(Stored, OAuthParties):
    """The tokens for one server. `id`: the digest of its address. `refreshing_until`: until then one process asks for new tokens.
    `fault`: why the authorization server gives no more.
    """

    id: str
    sealed: str = Field(repr=False)
    expires_at: Moment
    refreshing_until: Moment | None = None
    fault: str | None = None
    version: int = 1
