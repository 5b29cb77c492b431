"""Moves everything of a Letta server, or of its Postgres, to a server of this project. A client program: it knows APIs and V1's
tables, and no store.
"""
