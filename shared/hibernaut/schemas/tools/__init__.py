"""Tools and tool rules."""
