"""Routes of tools, their policies and sandboxes, and MCP servers."""
