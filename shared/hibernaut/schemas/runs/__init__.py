"""Requests to agents as runs: what is sent, the turn, steps, events, approvals and usage."""
