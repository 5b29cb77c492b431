"""The function that makes a long window short."""
