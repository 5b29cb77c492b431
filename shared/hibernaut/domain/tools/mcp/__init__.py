"""Decisions about tools of MCP servers: names, schemas, results, authorization."""
