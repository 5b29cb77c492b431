"""Tests of `local`."""
