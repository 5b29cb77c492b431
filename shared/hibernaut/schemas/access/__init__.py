"""API keys, access tokens, scopes, budgets, and the refusals of access."""
