"""Tests of `tools`."""
