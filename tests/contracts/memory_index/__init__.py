"""What every engine of the memory index promises."""
