"""The MCP endpoint: agents as tools for editors and other agents. All of it is ours."""

from __future__ import annotations

from tests.compat.manifest.form import diverging

V1 = "V1 serves no MCP; it only calls MCP servers."
ROWS = (
    diverging(
        "mcp_endpoint.tools",
        "RT 10.8",
        "POST /mcp serves agents as MCP tools in the revisions 2024-11-05 to 2026-07-28: list_agents, read_blocks, search_memory, write_passage, "
        "send_message, get_run, cancel_run.",
        V1,
    ),
    diverging(
        "mcp_endpoint.waiting",
        "RT 10.8",
        "A call that waits for an approval, or longer than its limit, returns the run and how to ask again; a repeated call sends its message once.",
        V1,
    ),
    diverging(
        "mcp_endpoint.progress",
        "RT 10.8",
        "A call that waits for an agent tells its progress to a client that gives a progressToken and accepts events: the run, and the tools that the agent calls.",
        V1,
    ),
    diverging(
        "mcp_endpoint.permissions",
        "RT 10.8",
        "Tools have the permissions of the routes that do the same: scopes, restricted keys, client-side access tokens, tenants, budgets.",
        V1,
    ),
)
