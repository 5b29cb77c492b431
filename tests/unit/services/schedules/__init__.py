"""Schedules: what fires when, and what becomes of it."""
