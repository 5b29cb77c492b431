"""Who calls and what the caller may do: keys, rights, origins, the addresses of this server, tokens of tools."""
