"""The function that runs a custom tool. Its role permits nothing, and each agent has its own execution environments."""
