"""Lists in the table: rows, logs, sharded lists, and orders by a time."""
