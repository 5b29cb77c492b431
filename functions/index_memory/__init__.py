"""The function that feeds the index of memory."""
