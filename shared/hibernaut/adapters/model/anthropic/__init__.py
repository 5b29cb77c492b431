"""Anthropic's Messages API, and servers that speak it."""

OFFICIAL_URL = "https://api.anthropic.com"
"""Defined here, so that a comparison of addresses does not import the wire."""
