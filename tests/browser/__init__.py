"""A real browser on pages of its own and of attackers."""
