"""Tests of `store.conversations`."""
