"""Ports that drive runs: the workflow, the signal of new events, the clock of schedules."""
