"""Engines of the `Secrets` port: environment variables locally, Parameter Store on AWS."""
