"""Tests of `store.table`."""
