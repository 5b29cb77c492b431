"""The function behind the routes that may take as long as a model call: the same REST API with streamed responses."""
