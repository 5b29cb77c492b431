"""Messages as they are stored, and as clients of V1 read them."""
