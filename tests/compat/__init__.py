"""The Letta V1 API as its clients meet it: a real loopback server, the unchanged `letta-client`, and the manifest of what is
kept.
"""
