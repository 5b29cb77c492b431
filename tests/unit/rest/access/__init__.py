"""Tests of `rest.access`."""
