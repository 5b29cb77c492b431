"""The turn machine, and the window on which it decides."""
