"""Tests of `services.sending`."""
