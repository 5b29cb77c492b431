"""What clients are shown: messages, deltas, traces, and list filters."""
