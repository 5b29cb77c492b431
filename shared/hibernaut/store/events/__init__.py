"""Events in the table: the outbox that transactions write, the webhooks, and their deliveries."""
