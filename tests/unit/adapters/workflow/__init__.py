"""Tests of `adapters.workflow`."""
