"""Spans as collectors get them, and the settings that name collectors."""
