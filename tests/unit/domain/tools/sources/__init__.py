"""Tests of `domain.tools.sources`."""
