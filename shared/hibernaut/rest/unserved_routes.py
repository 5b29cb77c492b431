"""The routes of Letta's V1 API that this server does not serve, as data: planned routes, and routes that will never be served, with the reason.

`routes()` makes them answer 501 with their name. Without it a client would get a 404 without an explanation, or a 405 if a path parameter
of another route matches. The compatibility manifest is generated from the same data. Remove a route from this table when it is served.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hibernaut.schemas.errors import RouteNotServed


@dataclass(frozen=True, slots=True)
class UnservedRoute:
    """A route that answers 501.

    `endpoint`: "METHOD path" as V1's clients call it, with `|` between several methods. `what`: what the route does in V1. `source`: the
    section of the API digest, or of its run-time part ("RT"). `never`: the reason why the route will not be served; empty: it is planned.
    """

    id: str
    endpoint: str
    what: str
    source: str
    never: str = ""

    @property
    def methods(self) -> list[str]:
        return self.endpoint.partition(" ")[0].split("|")

    @property
    def path(self) -> str:
        return self.endpoint.partition(" ")[2]


def unserved() -> Iterator[UnservedRoute]:
    """All of them. Of two routes that match one path, the more specific comes first."""
    for source, later in _LATER.items():
        yield from (UnservedRoute(*row, source) for row in later)
    for reason, rows in _NEVER.items():
        yield from (UnservedRoute(*row, "API 3", reason) for row in rows)


def routes() -> list[Route]:
    """One route for each, which answers 501 and is not part of the OpenAPI description."""
    return [Route(one.path.rstrip("/"), _refusal(one), methods=one.methods, include_in_schema=False) for one in unserved()]


def _refusal(route: UnservedRoute) -> Callable[[Request], Awaitable[Response]]:
    # The body is not read: the answer does not depend on it.
    async def refuse(request: Request) -> Response:
        raise RouteNotServed(f"{request.method} {route.path}", route.what, route.never)

    return refuse


_Rows = tuple[tuple[str, str, str], ...]

_LATER: dict[str, _Rows] = {
    "API 2.14": (
        ("mcp.create", "POST /v1/mcp-servers/", "Adds an MCP server."),
        ("mcp.connect", "GET /v1/mcp-servers/connect/{mcp_server_id}", "Connects to an MCP server by OAuth."),
        ("mcp.retrieve", "GET /v1/mcp-servers/{mcp_server_id}", "Retrieves an MCP server."),
        ("mcp.update", "PATCH /v1/mcp-servers/{mcp_server_id}", "Updates an MCP server."),
        ("mcp.delete", "DELETE /v1/mcp-servers/{mcp_server_id}", "Deletes an MCP server."),
        ("mcp.refresh", "PATCH /v1/mcp-servers/{mcp_server_id}/refresh", "Refreshes the tools of an MCP server."),
        ("mcp.tools.list", "GET /v1/mcp-servers/{mcp_server_id}/tools", "Lists the tools of an MCP server."),
        ("mcp.tools.retrieve", "GET /v1/mcp-servers/{mcp_server_id}/tools/{tool_id}", "Retrieves a tool of an MCP server."),
        ("mcp.tools.run", "POST /v1/mcp-servers/{mcp_server_id}/tools/{tool_id}/run", "Runs a tool of an MCP server."),
    ),
    "API 3": (
        ("tools.generate", "POST /v1/tools/generate-tool", "Generates a tool with a model."),
        ("mcp.by_name.create", "PUT /v1/tools/mcp/servers", "Adds an MCP server by its name."),
        ("mcp.by_name.test", "POST /v1/tools/mcp/servers/test", "Tests the connection to an MCP server."),
        ("mcp.by_name.connect", "POST /v1/tools/mcp/servers/connect", "Connects to an MCP server by OAuth."),
        ("mcp.by_name.update", "PATCH /v1/tools/mcp/servers/{mcp_server_name}", "Updates an MCP server by its name."),
        ("mcp.by_name.delete", "DELETE /v1/tools/mcp/servers/{mcp_server_name}", "Deletes an MCP server by its name."),
        (
            "mcp.by_name.resync",
            "POST /v1/tools/mcp/servers/{mcp_server_name}/resync",
            "Refreshes the tools of an MCP server by its name.",
        ),
        (
            "mcp.by_name.tools",
            "GET /v1/tools/mcp/servers/{mcp_server_name}/tools",
            "Lists the tools of an MCP server by its name.",
        ),
        (
            "mcp.by_name.run",
            "POST /v1/tools/mcp/servers/{mcp_server_name}/tools/{tool_name}/execute",
            "Runs a tool of an MCP server by its name.",
        ),
        (
            "mcp.by_name.add_tool",
            "POST /v1/tools/mcp/servers/{mcp_server_name}/{mcp_tool_name}",
            "Adds a tool of an MCP server by its name.",
        ),
        ("mcp.oauth", "GET /v1/tools/mcp/oauth/callback", "Receives the redirect of an OAuth provider."),
        ("groups.messages.list", "GET /v1/groups/{group_id}/messages", "Lists the messages of a group."),
        ("groups.messages.update", "PATCH /v1/groups/{group_id}/messages/{message_id}", "Updates a message of a group."),
        ("groups.messages.reset", "PATCH /v1/groups/{group_id}/reset-messages", "Resets the messages of a group."),
        ("sandbox.create", "POST /v1/sandbox-config/", "Creates a sandbox configuration."),
        ("sandbox.e2b", "POST /v1/sandbox-config/e2b/default", "Creates the default configuration for E2B."),
        ("sandbox.local.default", "POST /v1/sandbox-config/local/default", "Creates the default configuration for local tools."),
        (
            "sandbox.local.venv",
            "POST /v1/sandbox-config/local/recreate-venv",
            "Recreates the virtual environment of local tools.",
        ),
        ("sandbox.local.create", "POST /v1/sandbox-config/local", "Creates a configuration for local tools."),
        (
            "sandbox.variables.update",
            "PATCH /v1/sandbox-config/environment-variable/{env_var_id}",
            "Updates a variable of a sandbox configuration.",
        ),
        (
            "sandbox.variables.delete",
            "DELETE /v1/sandbox-config/environment-variable/{env_var_id}",
            "Deletes a variable of a sandbox configuration.",
        ),
        ("sandbox.update", "PATCH /v1/sandbox-config/{sandbox_config_id}", "Updates a sandbox configuration."),
        ("sandbox.delete", "DELETE /v1/sandbox-config/{sandbox_config_id}", "Deletes a sandbox configuration."),
        (
            "sandbox.variables.list",
            "GET /v1/sandbox-config/{sandbox_config_id}/environment-variable",
            "Lists the variables of a sandbox configuration.",
        ),
        (
            "sandbox.variables.create",
            "POST /v1/sandbox-config/{sandbox_config_id}/environment-variable",
            "Adds a variable to a sandbox configuration.",
        ),
        ("admin.users.list", "GET /v1/admin/users/", "Lists the users of the server."),
        ("admin.users.create", "POST /v1/admin/users/", "Creates a user."),
        ("admin.users.update", "PUT /v1/admin/users/", "Updates a user."),
        ("admin.users.delete", "DELETE /v1/admin/users/", "Deletes a user."),
        ("admin.orgs.list", "GET /v1/admin/orgs/", "Lists the organizations of the server."),
        ("admin.orgs.create", "POST /v1/admin/orgs/", "Creates an organization."),
        ("admin.orgs.update", "PATCH /v1/admin/orgs/", "Updates an organization."),
        ("admin.orgs.delete", "DELETE /v1/admin/orgs/", "Deletes an organization."),
        (
            "git_memory",
            "GET|POST|PUT|PATCH|DELETE /v1/git/{path:path}",
            "Reads and writes an agent's memory as a git repository.",
        ),
    ),
}
"""Section of the digest -> (id, endpoint, what it does) of the planned routes."""

_VOICE = "V1 answers 410: the route is retired."
_CLOUD = "The route serves Letta's own cloud."
_PROXY = "The route forwards requests to the provider, which a client can call itself."
_NEVER: dict[str, _Rows] = {
    _VOICE: (("voice", "POST /v1/voice-beta/{agent_id}/chat/completions", "Streams a reply to a voice client."),),
    "The storage engine of each profile reports its size.": (
        ("embeddings.size", "GET /v1/embeddings/total_storage_size", "Reports the storage that embeddings take."),
    ),
    "An API key names the tenant; no password is exchanged for it.": (
        ("auth", "POST /v1/auth", "Exchanges a password for a placeholder user."),
    ),
    "V1 stores ids of transactions of Letta's cloud on steps; here steps have none.": (
        ("steps.transaction", "PATCH /v1/steps/{step_id}/transaction/{transaction_id}", "Stores a transaction id on a step."),
    ),
    _PROXY: (
        ("proxies.anthropic", "GET|POST|PUT|PATCH|DELETE /v1/anthropic/v1/{endpoint:path}", "Forwards a request to Anthropic."),
        ("proxies.zai", "GET|POST|PUT|PATCH|DELETE /v1/zai/v1/{endpoint:path}", "Forwards a request to Z.ai."),
    ),
    _CLOUD: (
        ("internal.agents.count", "GET /v1/_internal_agents/count", "Counts agents."),
        ("internal.agents.blocks", "PATCH /v1/_internal_agents/{agent_id}/core-memory/blocks/{block_label}", "Updates a block."),
        ("internal.blocks.list", "GET /v1/_internal_blocks/", "Lists blocks."),
        ("internal.blocks.create", "POST /v1/_internal_blocks/", "Creates a block."),
        ("internal.blocks.delete", "DELETE /v1/_internal_blocks/{block_id}", "Deletes a block."),
        ("internal.blocks.agents", "GET /v1/_internal_blocks/{block_id}/agents", "Lists the agents of a block."),
        ("internal.runs", "GET /v1/_internal_runs/", "Lists runs."),
        ("internal.search", "POST /v1/_internal_search/cache-warm", "Warms a search index."),
        ("internal.templates.agents", "POST /v1/_internal_templates/agents", "Creates an agent from a template."),
        ("internal.templates.batch", "POST /v1/_internal_templates/blocks/batch", "Creates blocks from a template."),
        ("internal.templates.blocks", "POST /v1/_internal_templates/blocks", "Creates a block from a template."),
        ("internal.templates.groups", "POST /v1/_internal_templates/groups", "Creates a group from a template."),
        (
            "internal.deployment.list",
            "GET /v1/_internal_templates/deployment/{deployment_id}",
            "Lists the records of a deployment.",
        ),
        ("internal.deployment.delete", "DELETE /v1/_internal_templates/deployment/{deployment_id}", "Deletes a deployment."),
    ),
}
"""Reason -> (id, endpoint, what it does) of the routes that will never be served."""
