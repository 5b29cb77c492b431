"""Tools as records, and their execution on request of the API."""
