"""Tests of `domain.memory`."""
