"""Schedules of agents: their administration, and what happens when one is due."""
