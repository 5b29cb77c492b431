"""The migration from a Letta server: from its API, from its Postgres, and from a server of this project."""
