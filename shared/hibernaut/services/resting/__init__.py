"""Putting idle agents to rest, and waking them."""
