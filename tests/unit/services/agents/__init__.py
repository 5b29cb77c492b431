"""Tests of `services.agents`."""
