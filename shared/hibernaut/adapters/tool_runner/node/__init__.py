"""Tools in TypeScript: the Node of this machine, and the program that it runs in the cage (decision 56)."""
