"""The repositories, on the embedded engines."""
