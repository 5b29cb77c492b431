"""What every signal promises."""
