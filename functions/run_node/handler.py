"""Runs one custom tool in TypeScript, as `run_tool` runs one in Python: what differs is a layer with Node (decision 56)."""

from __future__ import annotations

from functions.run_tool.handler import handler

__all__ = ["handler"]
