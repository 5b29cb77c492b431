"""Tests of `domain.tools.builtin`."""
