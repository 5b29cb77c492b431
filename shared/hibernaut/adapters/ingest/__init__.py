"""Engines of the `Ingest` port: threads at home, a function on AWS."""
