"""Use cases of agent files: the export of an agent, and the validation of a file that is imported."""
