"""The tool calls of a step: execution of the tools, and the changes that their edits make."""
