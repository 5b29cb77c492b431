"""Tests of `store.table.bodies`."""
