"""Errors with the data of what failed: records, packages, secrets."""
