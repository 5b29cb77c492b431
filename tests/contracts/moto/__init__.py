"""What moto, fixed, answers as AWS does."""
