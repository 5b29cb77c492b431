"""Tests of the authorization of MCP servers."""
