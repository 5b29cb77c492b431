"""What comes later or not at all: MCP, identities, schedules, templates, agent files, and what only Letta's cloud has (digest 2.2-2.17)."""

from __future__ import annotations

from tests.compat.manifest.form import LATER, out_of_reach, todo

CLOUD = "They connect devices to Letta's cloud and have no counterpart here; the answer is 404, as from an open-source V1 server."

ROWS = (
    todo("agents.export", "API 2.2", "Writes an agent file.", LATER, "GET /v1/agents/{agent_id}/export"),
    todo("agents.import", "API 2.2", "Reads an agent file.", LATER, "POST /v1/agents/import"),
    todo("schedule.create", "API 2.4", "Schedules a message.", LATER, "POST /v1/agents/{agent_id}/schedule"),
    todo("schedule.list", "API 2.4", "The scheduled messages.", LATER, "GET /v1/agents/{agent_id}/schedule"),
    todo("schedule.retrieve", "API 2.4", "One of them.", LATER, "GET /v1/agents/{agent_id}/schedule/{scheduled_message_id}"),
    todo("schedule.delete", "API 2.4", "Takes it back.", LATER, "DELETE /v1/agents/{agent_id}/schedule/{scheduled_message_id}"),
    todo(
        "identities.attach",
        "API 2.7",
        "Gives an agent an identity.",
        LATER,
        "PATCH /v1/agents/{agent_id}/identities/attach/{identity_id}",
    ),
    todo("identities.detach", "API 2.7", "Takes it away.", LATER, "PATCH /v1/agents/{agent_id}/identities/detach/{identity_id}"),
    todo("mcp.create", "API 2.14", "Adds an MCP server.", LATER, "POST /v1/mcp-servers/"),
    todo("mcp.list", "API 2.14", "The MCP servers.", LATER, "GET /v1/mcp-servers/"),
    todo("mcp.retrieve", "API 2.14", "One of them.", LATER, "GET /v1/mcp-servers/{mcp_server_id}"),
    todo("mcp.update", "API 2.14", "Changes it.", LATER, "PATCH /v1/mcp-servers/{mcp_server_id}"),
    todo("mcp.delete", "API 2.14", "Removes it.", LATER, "DELETE /v1/mcp-servers/{mcp_server_id}"),
    todo("mcp.refresh", "API 2.14", "Reads its tools again.", LATER, "PATCH /v1/mcp-servers/{mcp_server_id}/refresh"),
    todo("mcp.tools.list", "API 2.14", "Its tools.", LATER, "GET /v1/mcp-servers/{mcp_server_id}/tools"),
    todo("mcp.tools.retrieve", "API 2.14", "One of them.", LATER, "GET /v1/mcp-servers/{mcp_server_id}/tools/{tool_id}"),
    todo("mcp.tools.run", "API 2.14", "Runs it.", LATER, "POST /v1/mcp-servers/{mcp_server_id}/tools/{tool_id}/run"),
    todo("templates.create", "API 2.17", "Makes a template of an agent.", LATER, "POST /v1/templates"),
    todo("templates.update", "API 2.17", "Changes it.", LATER, "PATCH /v1/templates/{template_name}"),
    todo("templates.delete", "API 2.17", "Deletes it.", LATER, "DELETE /v1/templates/{template_name}"),
    todo("templates.rollback", "API 2.17", "Goes back to a version.", LATER, "POST /v1/templates/{template_name}/rollback"),
    todo("templates.save", "API 2.17", "Saves a version.", LATER, "POST /v1/templates/{template_name}/save"),
    todo("templates.agents", "API 2.17", "Makes an agent from it.", LATER, "POST /v1/templates/{template_version}/agents"),
    todo("tokens.create", "API 2.17", "Makes a token for a browser.", LATER, "POST /v1/client-side-access-tokens"),
    todo("tokens.list", "API 2.17", "The tokens.", LATER, "GET /v1/client-side-access-tokens"),
    todo("tokens.delete", "API 2.17", "Takes one back.", LATER, "DELETE /v1/client-side-access-tokens/{token}"),
    out_of_reach("environments.list", "API 2.17", "The connected devices.", CLOUD, "GET /v1/environments"),
    out_of_reach("environments.retrieve", "API 2.17", "One of them.", CLOUD, "GET /v1/environments/{device_id}"),
    out_of_reach(
        "environments.messages", "API 2.17", "Messages to one.", CLOUD, "POST /v1/environments/{connection_id}/messages"
    ),
    out_of_reach("voice", "API 3", "/v1/voice-beta streams to a voice.", "The routes are dead in V1 too (410)."),
    todo("groups", "API 3", "/v1/groups/* manages groups of agents.", LATER),
    todo("chat_completions", "API 3", "/v1/chat/completions speaks OpenAI's format with an agent as model.", LATER),
)
