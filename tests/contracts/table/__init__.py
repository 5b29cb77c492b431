"""What every engine of the table promises."""
