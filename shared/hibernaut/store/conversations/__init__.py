"""Conversations: their heads, records, logs and windows."""
