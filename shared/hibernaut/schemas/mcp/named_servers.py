"""MCP servers in the form of V1's older routes: flat objects, identified by name (Letta V1 API, API 3)."""

from typing import Self

from pydantic import Field, ValidationError, model_validator

from hibernaut.schemas.base import Json, JsonObject, Schema, StrictSchema
from hibernaut.schemas.limits import Note, Small
from hibernaut.schemas.mcp.server import (
    CreateMcpServer,
    McpServerName,
    McpServerType,
    SseMcpServer,
    StdioMcpServer,
    StoredMcpServer,
    UpdateMcpServer,
)

_FLAT = ("server_url", "auth_header", "auth_token", "custom_headers", "command", "args", "env")


class _FlatConfig(StrictSchema):
    """The fields of a configuration. Their forms and limits are those of the newer routes."""

    type: McpServerType | None = None
    server_url: Note | None = None
    auth_header: Note | None = None
    auth_token: Note | None = Field(default=None, repr=False)
    custom_headers: Small[dict[str, str]] | None = Field(default=None, repr=False)
    command: Note | None = None
    args: Small[list[str]] | None = None
    env: Small[dict[str, str]] | None = Field(default=None, repr=False)

    def config(self, kind: McpServerType | None = None) -> JsonObject:
        """The configuration in the form of the newer routes. `kind`: the type, if the request names none."""
        named = self.type or kind
        fields = {name: getattr(self, name) for name in _FLAT if getattr(self, name) is not None}
        return {**fields, **({"mcp_server_type": named.value} if named else {})}


def _checked(error: ValidationError) -> ValueError:
    """The faults in words that quote no value."""
    return ValueError(
        "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors(include_input=False))
    )


class McpServerByName(_FlatConfig):
    """The body of PUT /v1/tools/mcp/servers and of POST …/test."""

    server_name: McpServerName

    @model_validator(mode="after")
    def _fits(self) -> Self:
        try:
            self.request()
        except ValidationError as error:
            raise _checked(error) from None
        return self

    def request(self) -> CreateMcpServer:
        """The same, as the newer route takes it."""
        return CreateMcpServer.model_validate({"server_name": self.server_name, "config": self.config()})


class McpUpdateByName(_FlatConfig):
    """The body of PATCH /v1/tools/mcp/servers/{name}. What is null or missing stays."""

    server_name: McpServerName | None = None

    def request(self, kind: McpServerType) -> UpdateMcpServer:
        """The same, as the newer route takes it, for a server of this type. Raises: ValueError."""
        try:
            return UpdateMcpServer.model_validate({"server_name": self.server_name, "config": self.config(kind)})
        except ValidationError as error:
            raise _checked(error) from None


class McpConfigByName(Schema):
    """What the wire forms have in common."""

    server_name: str
    type: McpServerType


class StdioMcpConfig(McpConfigByName):
    """A program, as the older routes show it."""

    command: str
    args: list[str]
    env: dict[str, str] | None = None


class HttpMcpConfig(McpConfigByName):
    """An address, as the older routes show it."""

    server_url: str
    auth_header: str | None = None
    auth_token: str | None = None
    custom_headers: dict[str, str] | None = None


AnyMcpConfig = StdioMcpConfig | HttpMcpConfig


class McpListedTool(Schema):
    """A tool as its server lists it."""

    name: str
    description: str = ""
    inputSchema: Json = None  # noqa: N815  the protocol's name


class McpTrial(Schema):
    """What became of a test: the tools of a server that could be read."""

    status: str = "success"
    tools: list[McpListedTool] = Field(default_factory=list)


class McpExecution(Schema):
    """The result of a call by names, with the fields of V1's route, which no SDK types. `success`: the tool reports no error."""

    result: str
    success: bool


def flat_config(server: StoredMcpServer) -> AnyMcpConfig:
    """The wire form of a record."""
    wire = server.wire()
    common = {"server_name": server.server_name, "type": server.mcp_server_type}
    if isinstance(wire, StdioMcpServer):
        return StdioMcpConfig.model_validate({**common, "command": wire.command, "args": wire.args, "env": wire.env})
    assert isinstance(wire, SseMcpServer)  # noqa: S101  the other wire forms
    secrets = {name: getattr(wire, name) for name in ("server_url", "auth_header", "auth_token", "custom_headers")}
    return HttpMcpConfig.model_validate({**common, **secrets})
