"""What every store of blobs promises."""
