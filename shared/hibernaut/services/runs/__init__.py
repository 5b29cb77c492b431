"""Requests to agents as runs: sending, cancelling, listing, repairing, and the sweep that ends what is stuck."""
