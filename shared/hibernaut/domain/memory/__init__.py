"""Core memory: edits, their texts, and the system prompt that shows it."""
