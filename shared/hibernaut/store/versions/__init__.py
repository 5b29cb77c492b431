"""Versions of blocks, agents and passages: each change with its author and time."""
