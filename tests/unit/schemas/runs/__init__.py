"""Unit tests of runs and of what belongs to them."""
