"""Tests of `services.turns`."""
