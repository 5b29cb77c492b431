"""Conversations: making, finding, changing, and deleting them."""
