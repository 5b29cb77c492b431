"""What a browser opens: the console's files, the page of the API, its OpenAPI description."""
