"""What every cage for custom tools promises."""
