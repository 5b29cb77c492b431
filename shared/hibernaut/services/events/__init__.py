"""Events: passing them on to webhooks and to the event bus, and the administration of webhooks."""
