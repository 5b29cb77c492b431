"""The contract of the port `Web`."""
