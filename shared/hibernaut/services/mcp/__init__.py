"""MCP servers of a tenant as targets of sessions: their addresses with opened secrets. Administration is in `services.tools`."""
