"""Tests of `services.erasures`."""
