"""What every clock and every maker of ids promises."""
