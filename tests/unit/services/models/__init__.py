"""Tests of `services.models`."""
