"""Retrieval benchmark: the recall of four search modes on both engines of the index."""
