"""Tools as records, and running one by request."""
