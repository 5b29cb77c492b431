"""The views for clients: messages, deltas, traces, and pages of lists."""
