"""The function `fire_schedule`."""
