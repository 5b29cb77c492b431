"""Writing a validated agent file: the steps after which its agents exist."""
