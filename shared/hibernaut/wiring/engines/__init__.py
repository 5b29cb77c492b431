"""The engines behind the ports, chosen by the settings."""
