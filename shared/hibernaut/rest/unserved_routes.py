"""The routes of Letta's V1 API that this server does not serve, as data, each with the reason.

`routes()` makes them answer 501 with their name. Without it a client would get a 404 without an explanation, or a 405 if a path
parameter of another route matches. The compatibility manifest is generated from the same data. Remove a route from this table
when it is served.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hibernaut.schemas.errors import RouteNotServed
from hibernaut.schemas.immutable import immutable


@immutable
class UnservedRoute:
    """A route that answers 501.

    `endpoint`: "METHOD path" as V1's clients call it, with `|` between several methods. `what`: what the route does in V1.
    `source`: the section of the API digest, or of its run-time part ("RT"). `never`: the reason why the route is not served.
    """

    id: str
    endpoint: str
    what: str
    source: str
    never: str

    @property
    def methods(self) -> list[str]:
        return self.endpoint.partition(" ")[0].split("|")

    @property
    def path(self) -> str:
        return self.endpoint.partition(" ")[2]


def unserved() -> Iterator[UnservedRoute]:
    """All of them. Of two routes that match one path, the more specific comes first."""
    for reason, rows in _NEVER.items():
        yield from (UnservedRoute(*row, "API 3", reason) for row in rows)


def older() -> Iterator[UnservedRoute]:
    """The routes that letta-client 0.1 calls and V1 no longer has. They are no part of the compatibility manifest."""
    for reason, rows in _OLDER.items():
        yield from (UnservedRoute(f"older.{endpoint}", endpoint, what, "letta-client 0.1.324", reason) for endpoint, what in rows)


def routes() -> list[Route]:
    """One route for each, which answers 501 and is not part of the OpenAPI description."""
    return [
        Route(one.path.rstrip("/"), _refusal(one), methods=one.methods, include_in_schema=False)
        for one in (*unserved(), *older())
    ]


def _refusal(route: UnservedRoute) -> Callable[[Request], Awaitable[Response]]:
    # The body is not read: the answer does not depend on it.
    async def refuse(request: Request) -> Response:
        raise RouteNotServed(f"{request.method} {route.path}", route.what, route.never)

    return refuse


_Rows = tuple[tuple[str, str, str], ...]

_GIT = "V1 forwards it to a git service beside the server, and answers 501 without one. Blocks have a history here: GET /v1/blocks/{block_id}/versions."
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
    _GIT: (
        (
            "git_memory",
            "GET|POST|PUT|PATCH|DELETE /v1/git/{path:path}",
            "Reads and writes an agent's memory as a git repository.",
        ),
    ),
    "Tools run in this server's own cage; nothing is run at E2B.": (
        ("sandbox.e2b", "POST /v1/sandbox-config/e2b/default", "Creates the default configuration for E2B."),
    ),
    "A tenant is one organization with one user, and an API key creates it (`hibernaut keys create --tenant`).": (
        ("admin.users.create", "POST /v1/admin/users/", "Creates a user."),
        ("admin.users.update", "PUT /v1/admin/users/", "Updates a user."),
        ("admin.users.delete", "DELETE /v1/admin/users/", "Deletes a user."),
        ("admin.orgs.create", "POST /v1/admin/orgs/", "Creates an organization."),
        ("admin.orgs.update", "PATCH /v1/admin/orgs/", "Updates an organization."),
        ("admin.orgs.delete", "DELETE /v1/admin/orgs/", "Deletes an organization."),
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
"""Reason -> (id, endpoint, what it does) of the routes."""

_OLDER: dict[str, tuple[tuple[str, str], ...]] = {
    "Later clients list agents with filters: GET /v1/agents/.": (("POST /v1/agents/search", "Searches agents."),),
    "Passages are not changed: delete one and create another.": (
        ("PATCH /v1/agents/{agent_id}/archival-memory/{memory_id}", "Changes a passage."),
    ),
    "The route is GET /v1/models/embedding.": (("GET /v1/models/embeddings", "Lists embedding models."),),
    "Composio's tools are those of an MCP server: POST /v1/mcp-servers/.": (
        ("GET /v1/tools/composio/apps", "Lists Composio's apps."),
        ("GET /v1/tools/composio/apps/{composio_app_name}/actions", "Lists the actions of an app of Composio."),
        ("POST /v1/tools/composio/{composio_action_name}", "Adds an action of Composio as a tool."),
    ),
    "There are no projects here: a template is named by /v1/templates/{template_version} alone.": (
        ("GET /v1/projects", "Lists projects."),
        ("GET /v1/agents/{agent_id}/core-memory/variables", "Lists the variables of the agent's template."),
        ("POST /v1/agents/{agent_id}/migrate", "Moves an agent to another version of its template."),
        ("POST /v1/agents/{agent_id}/template", "Creates a template from an agent."),
        ("POST /v1/agents/{agent_id}/version-template", "Creates a version of an agent's template."),
        ("POST /v1/templates/{project_id}", "Creates a template in a project."),
        ("GET /v1/templates/{project_id}/{name}/versions", "Lists the versions of a template."),
        ("POST|DELETE /v1/templates/{project_id}/{template_name}", "Saves or deletes a template."),
        (
            "POST /v1/templates/{project_id}/{template_name}/deployments/{deployment_id}/migrate",
            "Moves a deployment to another version.",
        ),
        ("PATCH /v1/templates/{project_id}/{template_name}/description", "Describes a template."),
        ("PATCH /v1/templates/{project_id}/{template_name}/name", "Renames a template."),
        ("POST /v1/templates/{project_id}/{template_version}/agents", "Creates agents from a template."),
        ("POST /v1/templates/{project_id}/{template_version}/fork", "Copies a template."),
        ("GET|PUT /v1/templates/{project_id}/{template_version}/snapshot", "Reads or replaces what a template holds."),
    ),
}
"""Reason -> (endpoint, what it does) of the routes of older clients."""
