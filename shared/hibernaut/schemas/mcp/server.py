"""An MCP server of a tenant: its wire forms, the stored record, and the requests (Letta V1 API, API 2.14; RT 10.8).

A stored record holds its secrets sealed, in one value: `McpSecrets`. No wire form has a field that could show one.
"""

import re
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, StringConstraints, Tag

from hibernaut.schemas.base import Moment, Schema, StrictSchema
from hibernaut.schemas.ids import pattern
from hibernaut.schemas.names import is_plain
from hibernaut.schemas.stored import Stored

MOST_SERVERS = 100
"""The largest number of MCP servers of a tenant. Requests that arrive at the same time may exceed it by their number."""
MOST_TOOLS = 500
"""The largest number of tools of one server that are stored."""
LONGEST_SERVER_NAME = 100
LONGEST_ADDRESS = 2_048
LONGEST_SECRET = 8_192
"""Characters of a token, a header or a variable."""
MOST_SECRETS = 50
"""Headers, or variables, of one server."""
MASK = "********"
"""What stands for a stored secret. A request that sends it back keeps the secret."""
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_SENDABLE = re.compile(r"[\x20-\x7e]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_OURS = frozenset({
    "host", "connection", "content-length", "content-type", "transfer-encoding", "accept", "accept-encoding", "mcp-session-id", "mcp-protocol-version",
})  # fmt: skip
"""Headers that the connection sets by itself."""

McpServerId = Annotated[str, StringConstraints(pattern=pattern("mcp_server"))]


class McpServerType(StrEnum):
    """How a server is reached."""

    STDIO = "stdio"
    SSE = "sse"
    STREAMABLE_HTTP = "streamable_http"


def _server_name(name: str) -> str:
    if not is_plain(name) or "/" in name or name != name.strip():
        raise ValueError("a server's name may not contain '/', '<', '>' or control characters, nor a space at an end")
    return name


def _unquoted(value: object) -> object:
    """A header without the quotes and the colon that are pasted with it (RT 10.8)."""
    return value.strip().strip("\"'").rstrip(":").strip() if isinstance(value, str) else value


def header_name_of(name: str) -> str:
    """The name itself. Raises: ValueError if no request can have such a header, or the connection sets it by itself."""
    if not _HEADER.fullmatch(name):
        raise ValueError(f"{name[:100]!r} is no name of a header")
    if name.lower() in _OURS:
        raise ValueError(f"the header {name} is set by this server itself")
    return name


def _headers(headers: dict[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        header_name_of(name)
        if not _SENDABLE.fullmatch(value) or len(value) > LONGEST_SECRET:
            raise ValueError(f"the header {name} has a line break or another character that cannot be sent, or is too long")
    if len({name.lower() for name in headers}) < len(headers):
        raise ValueError("a header occurs twice")
    return headers


def _variables(env: dict[str, str]) -> dict[str, str]:
    for name, value in env.items():
        if not _VARIABLE.fullmatch(name):
            raise ValueError(f"{name[:100]!r} is no name of a variable")
        if "\0" in value or len(value) > LONGEST_SECRET:
            raise ValueError(f"the variable {name} has a character that no variable can have, or is too long")
    return env


def _sendable(token: str) -> str:
    if not _SENDABLE.fullmatch(token):
        raise ValueError("the token has a line break or another character that cannot be sent; paste it again without it")
    return token


McpServerName = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_SERVER_NAME), AfterValidator(_server_name)]
McpAddressText = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_ADDRESS)]
_HeaderName = Annotated[str, BeforeValidator(_unquoted), AfterValidator(header_name_of)]
_HeaderValue = Annotated[str, BeforeValidator(_unquoted)]
_Headers = Annotated[dict[_HeaderName, _HeaderValue], Field(max_length=MOST_SECRETS, repr=False), AfterValidator(_headers)]
_Token = Annotated[str, StringConstraints(max_length=LONGEST_SECRET), Field(repr=False), AfterValidator(_sendable)]
_Variables = Annotated[dict[str, str], Field(max_length=MOST_SECRETS, repr=False), AfterValidator(_variables)]
_Argument = Annotated[str, StringConstraints(max_length=LONGEST_SECRET)]


class McpLeftOut(Schema):
    """A tool of a server that is not stored, and why."""

    name: str
    reason: str


class McpSync(Schema):
    """What became of the newest reading of a server's tools. `tools`: how many are stored since. `error`: why they could not be
    read.
    """

    at: Moment
    tools: int = 0
    left_out: list[McpLeftOut] = Field(default_factory=list)
    error: str | None = None


class McpServer(Schema):
    """What the wire forms have in common. `default_requires_approval` and `last_sync` are not V1's."""

    id: str
    server_name: str
    default_requires_approval: bool | None = None
    last_sync: McpSync | None = None


class StdioMcpServer(McpServer):
    """The wire form of a server that is a program. Values of `env` are masked."""

    mcp_server_type: Literal["stdio"] = "stdio"
    command: str
    args: list[str]
    env: dict[str, str] | None = None


class SseMcpServer(McpServer):
    """The wire form of a server behind an address. Token and values of headers are masked."""

    mcp_server_type: Literal["sse"] = "sse"
    server_url: str
    auth_header: str | None = None
    auth_token: str | None = None
    custom_headers: dict[str, str] | None = None


class StreamableHttpMcpServer(SseMcpServer):
    """The same, by the newer transport."""

    mcp_server_type: Literal["streamable_http"] = "streamable_http"  # type: ignore[assignment]


class McpSecrets(Schema):
    """What a record seals."""

    token: str | None = Field(default=None, repr=False)
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    env: dict[str, str] = Field(default_factory=dict, repr=False)

    def __bool__(self) -> bool:
        return bool(self.token or self.headers or self.env)


class StoredMcpServer(Stored, Schema):
    """The stored record. `sealed`: its `McpSecrets`, encrypted, in base64; `has_token`, `header_names` and `env_names` state
    which of them exist.
    `tools`: the ids of its tools by their names on the server. `version` counts changes.
    """

    id: str
    server_name: str
    mcp_server_type: McpServerType
    server_url: str = ""
    auth_header: str | None = None
    command: str = ""
    args: list[str] = Field(default_factory=list)
    has_token: bool = False
    header_names: list[str] = Field(default_factory=list)
    env_names: list[str] = Field(default_factory=list)
    sealed: str | None = Field(default=None, repr=False)
    default_requires_approval: bool | None = None
    tools: dict[str, str] = Field(default_factory=dict)
    last_sync: McpSync | None = None
    created_at: Moment
    updated_at: Moment
    version: int = 1

    def wire(self) -> McpServer:
        """The wire form of its type."""
        fields = {name: getattr(self, name) for name in McpServer.model_fields}
        if self.mcp_server_type is McpServerType.STDIO:
            env = dict.fromkeys(self.env_names, MASK) or None
            return StdioMcpServer(**fields, command=self.command, args=self.args, env=env)
        form = SseMcpServer if self.mcp_server_type is McpServerType.SSE else StreamableHttpMcpServer
        return form(
            **fields,
            server_url=self.server_url,
            auth_header=self.auth_header,
            auth_token=MASK if self.has_token else None,
            custom_headers=dict.fromkeys(self.header_names, MASK) or None,
        )


class CreateStdioMcpServer(StrictSchema):
    """A program that is started for each session."""

    mcp_server_type: Literal["stdio"] = "stdio"
    command: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_ADDRESS)]
    args: list[_Argument] = Field(max_length=MOST_SECRETS)
    env: _Variables | None = None


class CreateSseMcpServer(StrictSchema):
    """An address, by the older transport of HTTP."""

    mcp_server_type: Literal["sse"] = "sse"
    server_url: McpAddressText
    auth_header: _HeaderName | None = None
    auth_token: _Token | None = None
    custom_headers: _Headers | None = None


class CreateStreamableHttpMcpServer(CreateSseMcpServer):
    """An address, by the newer transport of HTTP."""

    mcp_server_type: Literal["streamable_http"] = "streamable_http"  # type: ignore[assignment]


class UpdateStdioMcpServer(StrictSchema):
    """Changes of a program. What is null or missing stays."""

    mcp_server_type: Literal["stdio"] = "stdio"
    command: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_ADDRESS)] | None = None
    args: list[_Argument] | None = Field(default=None, max_length=MOST_SECRETS)
    env: _Variables | None = None


class UpdateSseMcpServer(StrictSchema):
    """Changes of an address. What is null or missing stays; an empty text or object removes the token or the headers."""

    mcp_server_type: Literal["sse"] = "sse"
    server_url: McpAddressText | None = None
    auth_header: _HeaderName | None = None
    auth_token: _Token | None = None
    custom_headers: _Headers | None = None


class UpdateStreamableHttpMcpServer(UpdateSseMcpServer):
    """The same, by the newer transport."""

    mcp_server_type: Literal["streamable_http"] = "streamable_http"  # type: ignore[assignment]


def _type_of(config: Any) -> str:
    """The type in a configuration; without one, the type that its fields imply, as in V1."""
    if isinstance(config, dict):
        named = config.get("mcp_server_type")
        return str(named) if named else "stdio" if "command" in config else "sse"
    return str(getattr(config, "mcp_server_type", ""))


CreateMcpConfig = Annotated[
    Annotated[CreateStdioMcpServer, Tag("stdio")]
    | Annotated[CreateSseMcpServer, Tag("sse")]
    | Annotated[CreateStreamableHttpMcpServer, Tag("streamable_http")],
    Discriminator(_type_of),
]
UpdateMcpConfig = Annotated[
    Annotated[UpdateStdioMcpServer, Tag("stdio")]
    | Annotated[UpdateSseMcpServer, Tag("sse")]
    | Annotated[UpdateStreamableHttpMcpServer, Tag("streamable_http")],
    Discriminator(_type_of),
]
AnyMcpServer = StdioMcpServer | SseMcpServer | StreamableHttpMcpServer


class CreateMcpServer(StrictSchema):
    """The body of POST /v1/mcp-servers/. `default_requires_approval` is that of the server's tools."""

    server_name: McpServerName
    config: CreateMcpConfig
    default_requires_approval: bool | None = None


class UpdateMcpServer(StrictSchema):
    """The body of PATCH /v1/mcp-servers/{id}. What is null or missing stays."""

    server_name: McpServerName | None = None
    config: UpdateMcpConfig | None = None
    default_requires_approval: bool | None = None


class McpRefresh(Schema):
    """What a refresh changed, by the names of tools. `missing`: tools that the server has no more and agents still have; V1
    detaches and deletes them.
    """

    deleted: list[str] = Field(default_factory=list)
    updated: list[str] = Field(default_factory=list)
    added: list[str] = Field(default_factory=list)
    missing: list[str] = Field(default_factory=list)
    left_out: list[McpLeftOut] = Field(default_factory=list)
