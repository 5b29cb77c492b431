"""Blocks, archives, passages and files, and the outbox of the search index."""
