"""Events that a tenant's own systems hear of: their facts, and the webhooks that receive them."""
