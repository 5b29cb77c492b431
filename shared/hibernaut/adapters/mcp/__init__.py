"""Clients of MCP servers. Only this package uses the package `mcp`, and imports it at the first session."""
