"""One attempt at a step: its lease, its input, the model's reply, and the records that it writes."""
