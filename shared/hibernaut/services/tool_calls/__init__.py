"""The tool calls of a step: where a tool is run, and what its edits change."""
