"""The function that builds the packages of tools."""
