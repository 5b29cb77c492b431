"""Tests of `rest.mcp`."""
