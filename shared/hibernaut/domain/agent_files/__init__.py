"""Agent files (`.af`): their forms, what is repaired in them, and how they are written."""
