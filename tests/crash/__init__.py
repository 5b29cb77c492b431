"""Workers that die at every point at which one can, and the houses that find what they left."""
