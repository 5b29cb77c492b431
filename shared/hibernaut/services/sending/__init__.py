"""Accepting messages: of clients, in batches, of agents and groups, captured ones, and the messages to sleep-time agents."""
