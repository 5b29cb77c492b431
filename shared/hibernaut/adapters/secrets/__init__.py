"""Engines of the `Secrets` port: the environment at home, Parameter Store on AWS."""
