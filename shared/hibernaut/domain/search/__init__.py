"""Words, ranks, and the documents of an index."""
