"""Agents: making, finding, changing, and deleting them, and their parts."""
