"""The engine of the port `TokenVerifier`: an OpenID Connect issuer."""
