"""Clients of MCP servers. The package `mcp` is met here alone, and imported at the first session."""
