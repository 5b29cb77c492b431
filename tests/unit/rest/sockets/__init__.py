"""Tests of `rest.sockets`."""
