"""Templates with their versions, and imports of agent files."""
