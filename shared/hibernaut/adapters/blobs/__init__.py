"""Engines of the `Blobs` port: a folder at home, S3 on AWS."""
