"""The function behind the routes that may take as long as a model: the same REST face, streamed."""
