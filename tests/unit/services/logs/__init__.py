"""Tests of `services.logs`."""
