"""Anthropic's Messages API, and servers that speak it."""

OFFICIAL_URL = "https://api.anthropic.com"
"""Here, so that who compares addresses need not import the wire."""
