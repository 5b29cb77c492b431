"""Facts about models: their settings, token counts, and the retry policy."""
