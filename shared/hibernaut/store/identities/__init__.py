"""Identities, and the erasures of persons."""
