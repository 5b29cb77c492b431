"""Tests of `wiring`."""
