"""The engine of runs: advancing them, committing steps, making room, approvals, and the ends of runs."""
