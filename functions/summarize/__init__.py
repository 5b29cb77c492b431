"""The function that reduces a long window by a summary."""
