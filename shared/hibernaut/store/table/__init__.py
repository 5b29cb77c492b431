"""The table as repositories see it: keys, records as items, the view of one tenant, lists, logs, and retried operations."""
