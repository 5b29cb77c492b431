"""Engines of the `Embedder` port: the built-in MiniLM, OpenAI's wire format, Bedrock; and the catalogue of embedding models."""
