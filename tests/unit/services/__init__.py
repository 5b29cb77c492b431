"""The use cases, on the embedded engines."""
