"""What the use cases ask of the world: small protocols, spoken in schemas and plain values. No engine is named here."""
