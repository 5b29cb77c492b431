"""The function that closes a run after the last failed attempt of a step."""
