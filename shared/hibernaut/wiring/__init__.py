"""The composition roots: settings from the environment, and one builder for each kind of process.

Only this package knows which adapters stand behind the ports. A builder imports only what its process uses, so that a cold start
loads nothing else.
"""
