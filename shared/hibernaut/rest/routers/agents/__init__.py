"""Routes of agents and their parts."""
