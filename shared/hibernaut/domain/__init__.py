"""Decisions as pure functions over schemas.

Time and ids are parameters: no module here reads a clock, draws a random number, or touches a file, a socket or the environment.
"""
