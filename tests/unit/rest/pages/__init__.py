"""Tests of `rest.pages`."""
