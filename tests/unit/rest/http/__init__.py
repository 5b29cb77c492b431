"""Tests of `rest.http`."""
