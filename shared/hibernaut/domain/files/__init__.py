"""Files as text: reading, views, and matches."""
