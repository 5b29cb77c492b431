"""The composition root, the only place that knows everything: settings from the environment, and a builder per process.

A builder imports only what its process uses, so that a cold start pays for nothing else.
"""
