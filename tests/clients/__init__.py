"""Other clients than the Python SDK, as their users have them."""
