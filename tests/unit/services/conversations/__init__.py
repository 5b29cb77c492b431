"""Tests of `services.conversations`."""
