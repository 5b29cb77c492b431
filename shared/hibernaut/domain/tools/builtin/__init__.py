"""The built-in tools: their names and schemas."""
