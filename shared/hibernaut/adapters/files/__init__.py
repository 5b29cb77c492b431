"""Engines of the `FileReader` port: a child process, everywhere."""
