"""Tests of `services.access`."""
