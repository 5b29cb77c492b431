"""Blocks, passages, files, and searches of them."""
