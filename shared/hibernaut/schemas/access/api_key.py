"""API keys: the record, what the API shows of it, and the requests that change it. An extension of Hibernaut; V1 has one server
password.

A key belongs to one tenant and has a scope. A *restricted* key reaches named agents only. A *client token* is a restricted key
with an expiry for programs that cannot keep a secret, such as web pages; it may talk to its agents and nothing else. A
*client-side access token* is a client token with a policy: rights for each agent, and the origin of the pages that may use it
(`schemas.access.access_token`).
"""

from dataclasses import field
from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from hibernaut.schemas.access.access_token import AccessRight, PageAccess
from hibernaut.schemas.access.scope import Scope
from hibernaut.schemas.base import Moment, Schema, StrictSchema
from hibernaut.schemas.ids import AgentId, pattern
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.names import is_plain

KeyId = Annotated[str, StringConstraints(pattern=pattern("key"))]
MOST_AGENTS = 50
"""The largest number of agent ids, and of tags, in the restriction of one key."""
DAY_SECONDS = 86_400
LONGEST_GRACE = 30 * DAY_SECONDS
"""The longest grace period of a rotation, in seconds."""
LONGEST_CLIENT_TOKEN = 30 * DAY_SECONDS
"""The longest life of a client token, in seconds."""


NO_AGENT = "agent-00000000-0000-4000-8000-000000000000"
"""The agent of a stored client-side access token: none. A release that does not know policies lets the token reach nothing."""
KeyKind = Literal["secret", "client"]
"""`client`: a client token."""


def _plain_name(name: str) -> str:
    if not is_plain(name):
        raise ValueError("A key's name may not contain '<', '>' or control characters.")
    return name


KeyName = Annotated[str, StringConstraints(max_length=100), AfterValidator(_plain_name)]
Tag = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class ApiKey(Schema):
    """An API key as the API shows it, without the key itself. `hint`: its first characters.

    A key without `agent_ids` and `agent_tags` reaches all agents of the tenant. A key with them reaches the agents in `agent_ids`
    and the agents with one of its tags. A key is usable until `expires_at`, and not after `revoked_at`. `replaced_by` is the id
    of the key that a rotation made. `last_used_at` is exact to about a minute.
    """

    id: KeyId
    tenant: str
    name: str = ""
    scope: Scope
    kind: KeyKind = "secret"
    agent_ids: list[AgentId] = Field(default_factory=list)
    agent_tags: list[str] = Field(default_factory=list)
    hint: str
    created_at: Moment
    expires_at: Moment | None = None
    last_used_at: Moment | None = None
    revoked_at: Moment | None = None
    replaced_by: str | None = None
    page_access: PageAccess | None = None

    def usable(self, now: datetime) -> bool:
        """Whether the key is neither revoked nor expired."""
        return self.revoked_at is None and not self.expired(now)

    def expired(self, now: datetime) -> bool:
        """Whether the key's time is over; the end itself is. A key without an end never expires."""
        return self.expires_at is not None and self.expires_at <= now


class StoredApiKey(ApiKey):
    """The record in the table. `digest`: the keyed hash of the key, in hexadecimal digits."""

    digest: str
    version: int = 1

    def public(self) -> ApiKey:
        """The form that the API returns."""
        fields = self.model_dump(include=set(ApiKey.model_fields))
        if self.page_access is not None:
            fields["agent_ids"] = [policy.id for policy in self.page_access.data]
        return ApiKey(**fields)

    def principal(self) -> "Principal":
        """The sender of a request with this key."""
        access = self.page_access
        policies = access.data if access is not None else []
        return Principal(
            tenant=self.tenant,
            scope=self.scope,
            key_id=self.id,
            kind=self.kind,
            agent_ids=frozenset(self.agent_ids if access is None else (policy.id for policy in policies)),
            agent_tags=frozenset(self.agent_tags),
            digest=self.digest,
            origin=access.hostname if access is not None else None,
            grants=frozenset((policy.id, right) for policy in policies for right in policy.access),
        )


class CreatedApiKey(ApiKey):
    """A new key. `key` is the key itself, which only this response contains."""

    key: str


class CreateApiKey(StrictSchema):
    """The request for a new key. A client token needs `agent_ids` or `agent_tags`, and an `expires_at` within 30 days."""

    name: KeyName = ""
    scope: Scope
    kind: KeyKind = "secret"
    agent_ids: list[AgentId] = Field(default_factory=list, max_length=MOST_AGENTS)
    agent_tags: list[Tag] = Field(default_factory=list, max_length=MOST_AGENTS)
    expires_at: Moment | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        restricted = bool(self.agent_ids or self.agent_tags)
        if self.scope is Scope.ADMIN and (restricted or self.kind == "client"):
            raise ValueError(
                "A key of the scope admin manages keys, so it cannot be restricted to agents, nor be a client token."
            )
        if self.kind == "client" and not restricted:
            raise ValueError("A client token needs agent_ids or agent_tags.")
        if self.kind == "client" and self.expires_at is None:
            raise ValueError(f"A client token needs expires_at, at most {LONGEST_CLIENT_TOKEN // DAY_SECONDS} days from now.")
        return self


class UpdateApiKey(StrictSchema):
    """The changes of a key. A field that is absent stays; `expires_at: null` removes the expiry."""

    name: KeyName | None = None
    expires_at: Moment | None = None


class RotateApiKey(StrictSchema):
    """The request for a key in place of another one. The old key stays usable for `grace_seconds`, or until its own expiry if
    that is earlier.
    """

    grace_seconds: int = Field(default=DAY_SECONDS, ge=0, le=LONGEST_GRACE)


@immutable
class Principal:
    """The sender of a request: the tenant and the permissions of its key. `key_id` None: no key is configured (on a loopback
    address only).
    `digest`: the keyed hash of the key. `origin`: the origin of the pages that may use a client-side access token (None: the key
    is not such a token).
    `grants`: the rights of such a token, as pairs of agent and right. `of_tool`: a running tool sends the request, with the token
    of its call.
    """

    tenant: str
    scope: Scope
    key_id: str | None = None
    kind: KeyKind = "secret"
    agent_ids: frozenset[str] = frozenset()
    agent_tags: frozenset[str] = frozenset()
    digest: str = field(default="", repr=False)
    origin: str | None = None
    grants: frozenset[tuple[str, AccessRight]] = frozenset()
    of_tool: bool = False

    @property
    def restricted(self) -> bool:
        """Whether the key reaches some agents only."""
        return bool(self.agent_ids or self.agent_tags)

    @property
    def is_for_pages(self) -> bool:
        """Whether the key is a client-side access token."""
        return self.origin is not None
