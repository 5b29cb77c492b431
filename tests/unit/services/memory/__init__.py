"""Tests of `services.memory`."""
