"""What an agent starts with: its type, name, prompt, and first messages."""
