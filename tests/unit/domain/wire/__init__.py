"""Tests of `domain.wire`."""
