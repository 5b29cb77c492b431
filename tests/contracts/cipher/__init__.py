"""What every cipher promises."""
