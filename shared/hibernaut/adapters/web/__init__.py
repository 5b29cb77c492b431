"""The engine of the `Web` port: HTTP."""
