"""The function behind the WebSocket API: its connections, its messages, and the workers that follow runs."""
