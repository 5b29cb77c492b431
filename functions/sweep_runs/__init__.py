"""The function of the sweep: it runs once a minute and handles the overdue items of the index DUE."""
