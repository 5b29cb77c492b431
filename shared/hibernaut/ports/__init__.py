"""The ports: small protocols through which the use cases reach the outside world, in terms of schemas and plain values. Must not
know: any engine.
"""
