"""The command, as somebody at a terminal meets it: real processes, real signals."""
