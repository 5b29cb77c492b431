"""The function that ingests an uploaded file."""
