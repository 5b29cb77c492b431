"""MCP servers: the records, requests and errors."""
