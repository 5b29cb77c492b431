"""What every source of secrets promises."""
