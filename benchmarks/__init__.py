"""Measurements of a running server, beside the figures of the server that it replaces. Not part of the test suite: numbers are not tests."""
