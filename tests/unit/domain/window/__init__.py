"""Tests of `domain.window`."""
