"""The erasure of persons: everything that belongs to an identity, page by page, with a receipt and a check."""
