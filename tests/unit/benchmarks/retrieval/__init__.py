"""Tests of `benchmarks.retrieval`."""
