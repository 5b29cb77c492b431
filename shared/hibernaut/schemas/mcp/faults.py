"""The errors of MCP servers, as parts of the tree in `schemas/errors.py`."""

from hibernaut.schemas.errors import NotFound


class McpServerUnavailable(NotFound):
    """The tools of an MCP server cannot be read or called. 404 as in V1 (API 2.14). `server_name`: of its record;
    `reason`: a clause about the server.
    """

    code = "mcp_server_unavailable"

    def __init__(self, detail: str, server_name: str = "", reason: str = "") -> None:
        self.server_name = server_name
        self.reason = reason
        super().__init__(detail)
