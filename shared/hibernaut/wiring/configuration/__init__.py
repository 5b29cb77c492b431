"""The settings by subject, and the readers of variables that they share."""
