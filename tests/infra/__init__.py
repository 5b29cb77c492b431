"""The synthesized stack, as it would be deployed."""
