"""Servers of agents that commands reach over their HTTP API."""
