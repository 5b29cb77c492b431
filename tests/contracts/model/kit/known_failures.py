"""Scenarios that fail on a wire because of a known defect. Whoever mends the defect takes the line out: a test that passes fails here."""

from __future__ import annotations

KNOWN_FAILURES: dict[tuple[str, str], str] = {}
"""(provider, scenario) -> the defect."""
