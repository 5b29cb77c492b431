"""The local server and the command line.

Knows loopback, signals and the terminal; importing it loads no vendor's SDK.
"""
