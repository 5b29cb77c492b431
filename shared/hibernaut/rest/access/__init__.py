"""Authentication and authorisation of callers: keys, rights, origins, the addresses of this server, tokens of tools."""
