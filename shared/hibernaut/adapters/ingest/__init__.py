"""Engines of the `Ingest` port: threads locally, a Lambda function on AWS."""
