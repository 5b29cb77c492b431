"""Tests of `domain.turn`."""
