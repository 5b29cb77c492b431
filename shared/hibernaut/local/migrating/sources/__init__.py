"""Where a migration reads from: a Letta server's API, or its Postgres database."""
