"""Tests of `services.runs`."""
