"""The function that runs a custom tool. Its role may do nothing, and each agent has execution environments of its own."""
