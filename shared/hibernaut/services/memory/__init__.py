"""Memory as the API manages it: blocks, archives, and passages."""
