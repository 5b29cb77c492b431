"""Versions: what was changed, by whom and when, of blocks, agents and passages."""
