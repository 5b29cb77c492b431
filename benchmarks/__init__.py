"""Benchmarks of a running server, printed beside the figures of the V1 server. They are not part of the test suite."""
