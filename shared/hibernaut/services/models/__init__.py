"""Model calls: the list of models, one call on its thread, its retries, and summaries."""
