"""Tests of agent files: their export and import."""
