"""Routes of conversations and of messages to agents."""
