"""The function that passes events on."""
