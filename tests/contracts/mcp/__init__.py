"""The port `Mcp`: sessions with servers that keep to the protocol, and with those that do not."""
