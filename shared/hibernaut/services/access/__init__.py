"""API keys: authentication of requests, administration of keys, and which agents a restricted key reaches."""
