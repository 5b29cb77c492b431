"""Tests of `services.budgets`."""
