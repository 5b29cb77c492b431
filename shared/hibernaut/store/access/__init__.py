"""API keys and model providers, with their sealed secrets."""
