"""Models: their configuration, one call and its reply, providers, and what a call may fall back to."""
