"""The schema of a custom tool, read from its source without running it."""
