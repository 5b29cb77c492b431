"""What a `FileReader` promises."""
