"""The exit codes by which the launcher says what the tool's own process does not decide. Knows numbers only."""

from __future__ import annotations

LAST_OF_TOOL = 89
"""The exit code that stands for each larger one of a tool."""
PROCESSES_EXIT, MEMORY_EXIT, FILES_EXIT, BROKEN_EXIT = 90, 91, 92, 93
"""Too many processes, too much memory in all of them, too large files together, no cage."""
