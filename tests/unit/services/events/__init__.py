"""Tests of `services.events`."""
