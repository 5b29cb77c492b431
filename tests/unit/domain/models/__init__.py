"""Tests of `domain.models`."""
