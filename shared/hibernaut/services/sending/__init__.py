"""Accepting messages: of clients, in batches, of agents and groups, captured ones, and what sleep-time agents are told."""
