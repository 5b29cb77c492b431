"""The function behind API Gateway that serves the REST API with buffered responses."""
