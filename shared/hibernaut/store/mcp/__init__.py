"""MCP servers, and what is stored of their authorizations."""
