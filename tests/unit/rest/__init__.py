"""The frame around the routes, without any use case behind it."""
