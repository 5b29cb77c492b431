"""The Lambda functions, a folder each: a handler parses its event, calls one use case, and returns its receipt.

Handlers decide nothing; what they build comes from `hibernaut.wiring`.
"""
