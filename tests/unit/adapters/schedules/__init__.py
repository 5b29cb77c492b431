"""Tests of `adapters.schedules`."""
