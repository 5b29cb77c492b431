"""Embedding models of providers, over HTTP."""
