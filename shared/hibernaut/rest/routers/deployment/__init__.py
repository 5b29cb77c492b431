"""Routes of what a deployment has: health, keys, models, providers and tools."""
