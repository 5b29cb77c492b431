"""The function that reads an uploaded file."""
