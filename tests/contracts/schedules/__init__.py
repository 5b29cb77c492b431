"""The ports of events over their engines."""
