"""What all providers' wires share: connections, streams, errors, redaction."""
