"""The memory resources of the API: blocks, archives, and passages."""
