"""The function that feeds the memory index."""
