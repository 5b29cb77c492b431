"""Tests of `services.steps`."""
