"""Engines of the `Embedder` port: the server's own MiniLM, OpenAI's wire format, Bedrock; and the catalogue of which there are."""
