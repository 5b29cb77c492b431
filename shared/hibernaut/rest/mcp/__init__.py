"""The MCP endpoint: agents as tools of the Model Context Protocol (decision 54)."""
