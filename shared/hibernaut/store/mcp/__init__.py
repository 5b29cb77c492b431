"""MCP servers, and their stored authorizations."""
