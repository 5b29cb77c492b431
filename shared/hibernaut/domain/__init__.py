"""Decisions, as pure functions over schemas.

Time and ids come in as values: nothing here reads a clock, draws a random number, or touches a file, a socket or the environment.
"""
