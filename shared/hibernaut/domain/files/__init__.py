"""Files as text: decoding, views, and search results."""
