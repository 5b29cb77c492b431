"""The turn machine, and the window that it decides on."""
