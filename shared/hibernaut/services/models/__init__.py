"""Asking models: the list of them, one call in flight, its retries, and summaries."""
