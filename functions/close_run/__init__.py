"""The function that closes a run whose step failed for good."""
