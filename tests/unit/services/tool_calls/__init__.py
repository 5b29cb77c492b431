"""Tests of `services.tool_calls`."""
