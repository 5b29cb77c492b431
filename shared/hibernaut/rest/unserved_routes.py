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
    "API 2.2": (
        ("agents.export", "GET /v1/agents/{agent_id}/export", "Writes an agent file."),
        ("agents.export.skills", "POST /v1/agents/{agent_id}/export", "Writes an agent file with skills."),
        ("agents.import", "POST /v1/agents/import", "Reads an agent file."),
    ),
    "API 2.4": (
        ("schedule.create", "POST /v1/agents/{agent_id}/schedule", "Schedules a message."),
        ("schedule.retrieve", "GET /v1/agents/{agent_id}/schedule/{scheduled_message_id}", "One scheduled message."),
        ("schedule.delete", "DELETE /v1/agents/{agent_id}/schedule/{scheduled_message_id}", "Takes a scheduled message back."),
    ),
    "API 2.7": (
        ("identities.attach", "PATCH /v1/agents/{agent_id}/identities/attach/{identity_id}", "Gives an agent an identity."),
        ("identities.detach", "PATCH /v1/agents/{agent_id}/identities/detach/{identity_id}", "Takes an identity away."),
    ),
    "API 2.14": (
        ("mcp.create", "POST /v1/mcp-servers/", "Adds an MCP server."),
        ("mcp.connect", "GET /v1/mcp-servers/connect/{mcp_server_id}", "Connects to an MCP server by OAuth."),
        ("mcp.retrieve", "GET /v1/mcp-servers/{mcp_server_id}", "One MCP server."),
        ("mcp.update", "PATCH /v1/mcp-servers/{mcp_server_id}", "Changes an MCP server."),
        ("mcp.delete", "DELETE /v1/mcp-servers/{mcp_server_id}", "Removes an MCP server."),
        ("mcp.refresh", "PATCH /v1/mcp-servers/{mcp_server_id}/refresh", "Reads the tools of an MCP server again."),
        ("mcp.tools.list", "GET /v1/mcp-servers/{mcp_server_id}/tools", "The tools of an MCP server."),
        ("mcp.tools.retrieve", "GET /v1/mcp-servers/{mcp_server_id}/tools/{tool_id}", "One tool of an MCP server."),
        ("mcp.tools.run", "POST /v1/mcp-servers/{mcp_server_id}/tools/{tool_id}/run", "Runs a tool of an MCP server."),
    ),
    "API 2.17": (
        ("templates.create", "POST /v1/templates", "Makes a template of an agent."),
        ("templates.update", "PATCH /v1/templates/{template_name}", "Changes a template."),
        ("templates.delete", "DELETE /v1/templates/{template_name}", "Deletes a template."),
        ("templates.rollback", "POST /v1/templates/{template_name}/rollback", "Goes back to a version of a template."),
        ("templates.save", "POST /v1/templates/{template_name}/save", "Saves a version of a template."),
        ("templates.agents", "POST /v1/templates/{template_version}/agents", "Makes an agent from a template."),
        ("tokens.create", "POST /v1/client-side-access-tokens", "Makes a token for a browser."),
        ("tokens.delete", "DELETE /v1/client-side-access-tokens/{token}", "Takes a token back."),
    ),
    "API 3": (
        ("messages.capture", "POST /v1/agents/{agent_id}/messages/capture", "Stores turns that were produced elsewhere."),
        ("blocks.identities.attach", "PATCH /v1/blocks/{block_id}/identities/attach/{identity_id}", "Gives a block an identity."),
        ("blocks.identities.detach", "PATCH /v1/blocks/{block_id}/identities/detach/{identity_id}", "Takes it away."),
        ("tools.generate", "POST /v1/tools/generate-tool", "Lets a model write a tool."),
        ("mcp.by_name.create", "PUT /v1/tools/mcp/servers", "Adds an MCP server by its name."),
        ("mcp.by_name.test", "POST /v1/tools/mcp/servers/test", "Tries the connection to an MCP server."),
        ("mcp.by_name.connect", "POST /v1/tools/mcp/servers/connect", "Connects to an MCP server by OAuth."),
        ("mcp.by_name.update", "PATCH /v1/tools/mcp/servers/{mcp_server_name}", "Changes an MCP server by its name."),
        ("mcp.by_name.delete", "DELETE /v1/tools/mcp/servers/{mcp_server_name}", "Removes an MCP server by its name."),
        ("mcp.by_name.resync", "POST /v1/tools/mcp/servers/{mcp_server_name}/resync", "Reads its tools again."),
        ("mcp.by_name.tools", "GET /v1/tools/mcp/servers/{mcp_server_name}/tools", "The tools of an MCP server by its name."),
        ("mcp.by_name.run", "POST /v1/tools/mcp/servers/{mcp_server_name}/tools/{tool_name}/execute", "Runs one of its tools."),
        ("mcp.by_name.add_tool", "POST /v1/tools/mcp/servers/{mcp_server_name}/{mcp_tool_name}", "Adds one of its tools."),
        ("mcp.oauth", "GET /v1/tools/mcp/oauth/callback", "Takes the answer of an OAuth provider."),
        ("identities.create", "POST /v1/identities/", "Makes an identity."),
        ("identities.upsert", "PUT /v1/identities/", "Makes or changes an identity."),
        ("identities.retrieve", "GET /v1/identities/{identity_id}", "One identity."),
        ("identities.update", "PATCH /v1/identities/{identity_id}", "Changes an identity."),
        ("identities.delete", "DELETE /v1/identities/{identity_id}", "Deletes an identity."),
        ("identities.properties", "PUT /v1/identities/{identity_id}/properties", "Sets the properties of an identity."),
        ("identities.agents", "GET /v1/identities/{identity_id}/agents", "The agents of an identity."),
        ("identities.blocks", "GET /v1/identities/{identity_id}/blocks", "The blocks of an identity."),
        ("groups.create", "POST /v1/groups/", "Makes a group of agents."),
        ("groups.retrieve", "GET /v1/groups/{group_id}", "One group."),
        ("groups.update", "PATCH /v1/groups/{group_id}", "Changes a group."),
        ("groups.delete", "DELETE /v1/groups/{group_id}", "Deletes a group."),
        ("groups.messages.list", "GET /v1/groups/{group_id}/messages", "The messages of a group."),
        ("groups.messages.update", "PATCH /v1/groups/{group_id}/messages/{message_id}", "Changes a message of a group."),
        ("groups.messages.reset", "PATCH /v1/groups/{group_id}/reset-messages", "Begins the context of a group anew."),
        ("groups.blocks.attach", "PATCH /v1/groups/{group_id}/blocks/attach/{block_id}", "Gives a group a block."),
        ("groups.blocks.detach", "PATCH /v1/groups/{group_id}/blocks/detach/{block_id}", "Takes a block away from a group."),
        ("sandbox.create", "POST /v1/sandbox-config/", "Makes a configuration of the place where tools run."),
        ("sandbox.e2b", "POST /v1/sandbox-config/e2b/default", "The default configuration for E2B."),
        ("sandbox.local.default", "POST /v1/sandbox-config/local/default", "The default configuration for this machine."),
        ("sandbox.local.venv", "POST /v1/sandbox-config/local/recreate-venv", "Makes the packages of local tools anew."),
        ("sandbox.local.create", "POST /v1/sandbox-config/local", "Makes a configuration for this machine."),
        ("sandbox.variables.update", "PATCH /v1/sandbox-config/environment-variable/{env_var_id}", "Changes a variable."),
        ("sandbox.variables.delete", "DELETE /v1/sandbox-config/environment-variable/{env_var_id}", "Removes a variable."),
        ("sandbox.update", "PATCH /v1/sandbox-config/{sandbox_config_id}", "Changes a configuration."),
        ("sandbox.delete", "DELETE /v1/sandbox-config/{sandbox_config_id}", "Deletes a configuration."),
        ("sandbox.variables.list", "GET /v1/sandbox-config/{sandbox_config_id}/environment-variable", "Its variables."),
        ("sandbox.variables.create", "POST /v1/sandbox-config/{sandbox_config_id}/environment-variable", "Adds a variable."),
        ("admin.users.list", "GET /v1/admin/users/", "The users of this server."),
        ("admin.users.create", "POST /v1/admin/users/", "Makes a user."),
        ("admin.users.update", "PUT /v1/admin/users/", "Changes a user."),
        ("admin.users.delete", "DELETE /v1/admin/users/", "Deletes a user."),
        ("admin.orgs.list", "GET /v1/admin/orgs/", "The organizations of this server."),
        ("admin.orgs.create", "POST /v1/admin/orgs/", "Makes an organization."),
        ("admin.orgs.update", "PATCH /v1/admin/orgs/", "Changes an organization."),
        ("admin.orgs.delete", "DELETE /v1/admin/orgs/", "Deletes an organization."),
        ("git_memory", "GET|POST|PUT|PATCH|DELETE /v1/git/{path:path}", "Reads and writes an agent's memory by git."),
    ),
    "RT 13.6": (
        ("batches.create", "POST /v1/messages/batches", "Sends messages to many agents by a provider's batch API."),
        ("batches.retrieve", "GET /v1/messages/batches/{batch_id}", "One batch."),
        ("batches.messages", "GET /v1/messages/batches/{batch_id}/messages", "The messages of a batch."),
        ("batches.cancel", "PATCH /v1/messages/batches/{batch_id}/cancel", "Cancels a batch."),
    ),
}
"""Section of the digest -> (id, endpoint, what it does) of the planned routes."""

_VOICE = "V1 answers 410 there: the route is dead."
_CLOUD = "It serves Letta's own cloud."
_PROXY = "It passes requests on to the provider, which a client can call itself."
_NEVER: dict[str, _Rows] = {
    _VOICE: (("voice", "POST /v1/voice-beta/{agent_id}/chat/completions", "Streams to a voice."),),
    "Storage is counted by the engines of each profile.": (
        ("embeddings.size", "GET /v1/embeddings/total_storage_size", "How much the embeddings take."),
    ),
    "A key decides whose data it is; there is no password to exchange for it.": (
        ("auth", "POST /v1/auth", "Exchanges a password for a placeholder."),
    ),
    "Steps carry no number of a foreign transaction; V1 marks them with those of Letta's cloud.": (
        ("steps.transaction", "PATCH /v1/steps/{step_id}/transaction/{transaction_id}", "Marks a step with a transaction."),
    ),
    _PROXY: (
        ("proxies.anthropic", "GET|POST|PUT|PATCH|DELETE /v1/anthropic/v1/{endpoint:path}", "Speaks to Anthropic."),
        ("proxies.zai", "GET|POST|PUT|PATCH|DELETE /v1/zai/v1/{endpoint:path}", "Speaks to Z.ai."),
    ),
    _CLOUD: (
        ("internal.agents.count", "GET /v1/_internal_agents/count", "Counts agents."),
        ("internal.agents.blocks", "PATCH /v1/_internal_agents/{agent_id}/core-memory/blocks/{block_label}", "Changes a block."),
        ("internal.blocks.list", "GET /v1/_internal_blocks/", "Lists blocks."),
        ("internal.blocks.create", "POST /v1/_internal_blocks/", "Makes a block."),
        ("internal.blocks.delete", "DELETE /v1/_internal_blocks/{block_id}", "Deletes a block."),
        ("internal.blocks.agents", "GET /v1/_internal_blocks/{block_id}/agents", "The agents of a block."),
        ("internal.runs", "GET /v1/_internal_runs/", "Lists runs."),
        ("internal.search", "POST /v1/_internal_search/cache-warm", "Warms a search index."),
        ("internal.templates.agents", "POST /v1/_internal_templates/agents", "Makes an agent of a template."),
        ("internal.templates.batch", "POST /v1/_internal_templates/blocks/batch", "Makes blocks of a template."),
        ("internal.templates.blocks", "POST /v1/_internal_templates/blocks", "Makes a block of a template."),
        ("internal.templates.groups", "POST /v1/_internal_templates/groups", "Makes a group of a template."),
        ("internal.deployment.list", "GET /v1/_internal_templates/deployment/{deployment_id}", "What a deployment has."),
        ("internal.deployment.delete", "DELETE /v1/_internal_templates/deployment/{deployment_id}", "Deletes a deployment."),
    ),
}
"""Reason -> (id, endpoint, what it does) of the routes that will never be served."""
