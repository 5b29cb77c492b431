"""Core memory: edits, the texts of blocks, and the system message that shows them."""
