"""Engines of the `MemoryIndex` port: SQLite at home, OpenSearch on AWS.

Both find the same words (`words`); both put the newer of two equal hits first, then the one with the lower id.
"""
