"""Tests of `adapters.model`."""
