"""Anthropic's Messages API, and servers that speak it."""
