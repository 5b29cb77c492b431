"""The function that ends a run which retries do not cure."""
