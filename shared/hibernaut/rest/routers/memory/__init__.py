"""Routes of blocks, archives, passages, files and searches."""
