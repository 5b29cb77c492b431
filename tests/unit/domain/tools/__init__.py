"""Tests of `domain.tools`."""
