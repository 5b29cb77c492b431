"""Doubles and servers that tests and benchmarks share."""
