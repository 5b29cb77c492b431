"""The suite of the `Model` port, and what each provider's wire asks for beyond it."""
