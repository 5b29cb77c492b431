"""Tests of `services.tools`."""
