"""Tests of `domain.search`."""
