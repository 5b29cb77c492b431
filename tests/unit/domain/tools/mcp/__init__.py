"""Tests of `domain.tools.mcp`."""
