"""Ports of what tools need: runners, their access, packages, MCP servers, authorization, the web."""
