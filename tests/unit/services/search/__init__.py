"""Tests of `services.search`."""
