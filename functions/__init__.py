"""The Lambda functions, one folder each. A handler parses its event, calls one use case, and returns the receipt.

Handlers make no decisions. `hibernaut.wiring` builds their dependencies.
"""
