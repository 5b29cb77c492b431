"""Templates: agent files by name, with versions, and the agents that are made from them."""
