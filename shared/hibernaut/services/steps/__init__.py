"""One attempt at a step: its lease, what it loads, the model's reply, and the records that it leaves."""
