"""Client-side access tokens (Letta V1 API, API 2.17): what a web page may hold to talk to an agent.

A token is an API key of the kind `client` with a policy and a host (`schemas.access.api_key`).
"""

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StringConstraints

from hibernaut.schemas.base import Moment, Schema, StrictSchema
from hibernaut.schemas.ids import AgentId

MOST_POLICIES = 50
"""The largest number of agents of one token."""
LONGEST_ORIGIN = 300
"""The longest origin in characters."""
DEFAULT_LIFE_SECONDS = 300
"""The default lifetime of a token (the SDK's documentation of `expires_at`)."""
MOST_TOKENS_LISTED = 100
"""The largest number of tokens of one page."""

AccessRight = Literal["read_messages", "write_messages", "read_agent", "write_agent"]
Rights = Annotated[list[AccessRight], Field(min_length=1, max_length=4)]
_PORTS = {"http": 80, "https": 443}


def _origin(address: str) -> str:
    """The origin of an address as a browser writes it. Raises: ValueError."""
    fault = "the full address of a page's origin was expected, such as https://app.example.com"
    try:
        parts = urlsplit(address.lower())
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError(fault) from None
    bare = parts.path in ("", "/") and not (parts.query or parts.fragment or parts.username or parts.password)
    if parts.scheme not in _PORTS or not host or not bare or not host.isascii() or not host.isprintable() or " " in host:
        raise ValueError(fault)
    literal = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{literal}" + ("" if port in (None, _PORTS[parts.scheme]) else f":{port}")


Origin = Annotated[str, StringConstraints(max_length=LONGEST_ORIGIN), AfterValidator(_origin)]


class AgentPolicy(Schema):
    """What a token may do with one agent."""

    type: Literal["agent"] = "agent"
    id: AgentId
    access: Rights


class NewAgentPolicy(StrictSchema):
    """The policy of one agent in a request."""

    type: Literal["agent"]
    id: AgentId
    access: Rights


class PageAccess(Schema):
    """What makes an API key a client-side access token: the origin of the pages that may use it, and what it may do with each
    agent.
    """

    hostname: str
    data: list[AgentPolicy]


class TokenPolicy(Schema):
    """The wire form of a token's policies."""

    version: Literal["1"] = "1"
    data: list[AgentPolicy]


class AccessToken(Schema):
    """The wire form. `token` is the token itself in the answer to its creation, and its id in lists."""

    token: str
    policy: TokenPolicy
    hostname: str
    expires_at: Moment = Field(serialization_alias="expiresAt")


class AccessTokenPage(Schema):
    """The wire form of a list."""

    tokens: list[AccessToken]
    has_next_page: bool = Field(serialization_alias="hasNextPage")


class CreateAccessToken(StrictSchema):
    """The body of POST /v1/client-side-access-tokens. `hostname`: the origin of the pages that may use the token, with its
    scheme.
    """

    policy: list[NewAgentPolicy] = Field(min_length=1, max_length=MOST_POLICIES)
    hostname: Origin
    expires_at: Moment | None = None
