"""The prompt of an agent: the system message, the views of its files, and the overview of the context window."""
