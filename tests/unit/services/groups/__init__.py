"""Tests of groups of agents."""
