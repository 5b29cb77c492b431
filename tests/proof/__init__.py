"""The proof: short stories killed at every write and every outside call, on every engine, and what was lost, doubled or bricked by it."""
