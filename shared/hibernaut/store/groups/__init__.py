"""Groups of agents, and the triggers of their sleep-time agents."""
