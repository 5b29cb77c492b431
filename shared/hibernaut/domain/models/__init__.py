"""What is known of models: their settings, token counts, and when a failed call is tried again."""
