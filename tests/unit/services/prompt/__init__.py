"""Tests of `services.prompt`."""
