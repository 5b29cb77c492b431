"""Runs and steps: their records, what a step reads, and the transactions of the run protocol."""
