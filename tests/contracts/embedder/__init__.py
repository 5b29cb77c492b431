"""The embedders under one suite, and what each has of its own."""
