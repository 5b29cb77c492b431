"""Tests of `domain.files`."""
