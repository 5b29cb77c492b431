"""Agents, the marks that list them, and tools."""
