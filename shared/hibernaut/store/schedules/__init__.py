"""Schedules, the items of their times, and the signal that one has changed."""
