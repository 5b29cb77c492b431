"""The command lines of `hibernaut`: options, and which functions they call."""
