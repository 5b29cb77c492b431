"""MCP servers and their tools (API 2.14, 3; RT 10.8)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    done(
        "mcp.create",
        "API 2.14",
        "Adds an MCP server and reads its tools; a name that is taken is 409.",
        "POST /v1/mcp-servers/",
    ),
    diverging(
        "mcp.create.unreachable",
        "API 2.14",
        "A server whose tools cannot be read is added all the same; `last_sync` of the reply says why, and which tools were left out and why.",
        "V1 says nothing.",
    ),
    diverging(
        "mcp.secrets",
        "RT 10.8",
        "Tokens, values of headers and of variables are encrypted and shown as `********`; a request that sends this back keeps them. A new address or command "
        "needs them again (400).",
        "V1 shows them.",
    ),
    done("mcp.list", "API 2.14", "Lists the MCP servers.", "GET /v1/mcp-servers/"),
    done("mcp.retrieve", "API 2.14", "Returns an MCP server; an unknown one is 404.", "GET /v1/mcp-servers/{mcp_server_id}"),
    done("mcp.update", "API 2.14", "Changes the fields of the request.", "PATCH /v1/mcp-servers/{mcp_server_id}"),
    done(
        "mcp.delete",
        "API 2.14",
        "Deletes it with its tools, which are detached from their agents (204).",
        "DELETE /v1/mcp-servers/{mcp_server_id}",
    ),
    diverging(
        "mcp.refresh",
        "RT 10.8",
        "Reads the tools again: `added`, `updated`, `deleted`; tools keep their ids. A tool that is gone and that agents have stays: it is named in `missing`, its calls say "
        "so, and it works again when the server has it again. `left_out` names the tools that are not stored, with reasons. A server that does not answer is 404 with the object `detail`: "
        "`code` (MCPServerUnavailable), `message`, `error`.",
        "V1 deletes tools that are gone, and so takes them from their agents.",
        "PATCH /v1/mcp-servers/{mcp_server_id}/refresh",
    ),
    done(
        "mcp.tools.list",
        "API 2.14",
        "Lists the tools of a server, of the type external_mcp with the tag `mcp:<server>`.",
        "GET /v1/mcp-servers/{mcp_server_id}/tools",
    ),
    diverging(
        "mcp.tools.retrieve",
        "API 2.14",
        "Returns a tool of a server; one of another server is 404.",
        "V1 answers 500 to an unknown one.",
        "GET /v1/mcp-servers/{mcp_server_id}/tools/{tool_id}",
    ),
    done(
        "mcp.tools.run",
        "API 2.14",
        "Calls a tool once; a failure is a result with the status error.",
        "POST /v1/mcp-servers/{mcp_server_id}/tools/{tool_id}/run",
    ),
    diverging(
        "mcp.calls",
        "RT 10.8",
        "A call of an agent is made at most once. A failure, also of the server, is a return with the status error. A tool whose arguments have changed on its server is "
        "not called until the server is refreshed. A call waits for an approval where its server or its tool demands one, and a cancelled run cancels it on the server.",
        "V1 makes a call again after a crash, and does not notice changes.",
    ),
    done("mcp.by_name.list", "API 3", "The MCP servers by their names.", "GET /v1/tools/mcp/servers"),
    done("mcp.by_name.create", "API 3", "Adds a server from a flat configuration, and returns all.", "PUT /v1/tools/mcp/servers"),
    diverging(
        "mcp.by_name.test",
        "API 3",
        "Returns the tools of a server that is not stored; one that does not answer is 404.",
        "V1 answers 400, 408 or 500.",
        "POST /v1/tools/mcp/servers/test",
    ),
    done("mcp.by_name.update", "API 3", "Changes a server.", "PATCH /v1/tools/mcp/servers/{mcp_server_name}"),
    done(
        "mcp.by_name.delete",
        "API 3",
        "Deletes a server with its tools, and returns the others.",
        "DELETE /v1/tools/mcp/servers/{mcp_server_name}",
    ),
    done(
        "mcp.by_name.resync",
        "API 3",
        "Reads the tools again, as `mcp.refresh`.",
        "POST /v1/tools/mcp/servers/{mcp_server_name}/resync",
    ),
    done("mcp.by_name.tools", "API 3", "The tools that a server lists now.", "GET /v1/tools/mcp/servers/{mcp_server_name}/tools"),
    done(
        "mcp.by_name.run",
        "API 3",
        "Calls a tool once: `result` (its text) and `success`, as V1's route answers; the SDK types it as an object.",
        "POST /v1/tools/mcp/servers/{mcp_server_name}/tools/{tool_name}/execute",
    ),
    diverging(
        "mcp.by_name.add_tool",
        "API 3",
        "Returns the stored tool; an unknown one, or one whose schema no model takes, is 400.",
        "V1 stores a tool with an invalid schema all the same.",
        "POST /v1/tools/mcp/servers/{mcp_server_name}/{mcp_tool_name}",
    ),
    done(
        "mcp.connect",
        "RT 10.8",
        "Connects to a stored server as a stream of events: `connection_attempt`, then `success` with the tools; or `oauth_required`, `authorization_url`, "
        "`waiting_for_auth`, and `success` once the user has authorized it; or `error`.",
        "GET /v1/mcp-servers/connect/{mcp_server_id}",
    ),
    done("mcp.by_name.connect", "API 3", "The same for a server that is not stored.", "POST /v1/tools/mcp/servers/connect"),
    diverging(
        "mcp.oauth",
        "RT 10.8",
        "Takes the answer of the user's browser, exchanges its code for tokens and stores them encrypted; an answer counts once, within ten minutes.",
        "In V1 the waiting connection exchanges the code, so nothing is stored if it has ended.",
        "GET /v1/tools/mcp/oauth/callback",
    ),
)
