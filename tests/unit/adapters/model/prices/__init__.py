"""Tests of `adapters.model.prices`."""
