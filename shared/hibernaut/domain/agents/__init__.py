"""The initial state of an agent: its type, name, prompt and first messages."""
