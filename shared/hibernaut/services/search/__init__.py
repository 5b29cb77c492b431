"""Finding memory again, and the index that makes it fast."""
