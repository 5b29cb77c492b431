"""Tests of `schemas.memory`."""
