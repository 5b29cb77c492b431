"""The function behind API Gateway: the whole REST face."""
