"""Tests of the schemas: what they take, refuse and write."""
