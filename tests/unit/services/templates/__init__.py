"""Tests of `services.templates`."""
