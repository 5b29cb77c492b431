"""The function that begins the wait for an approval."""
