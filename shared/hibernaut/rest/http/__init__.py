"""What every request passes: middleware, lanes of threads, strict JSON, the table of errors, replies and streams."""
