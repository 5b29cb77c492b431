"""The proof: short scenarios ("stories") that are killed at every write and every outside call, on every engine.

It counts what was lost, doubled or bricked.
"""
