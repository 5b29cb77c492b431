"""Search of memory, and the feeding and rebuilding of its index."""
