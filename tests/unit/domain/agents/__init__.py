"""Tests of `domain.agents`."""
