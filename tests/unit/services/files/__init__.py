"""Tests of `services.files`."""
