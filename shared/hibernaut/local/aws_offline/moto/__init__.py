"""moto, corrected where it differs from AWS: one module for each service, which says what moto does without it."""
