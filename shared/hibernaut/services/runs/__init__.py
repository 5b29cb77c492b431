"""Requests to agents as runs: sending, cancelling, listing, repairing, and the sweep that resumes or closes overdue runs."""
