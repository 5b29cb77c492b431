"""The function that runs a custom tool in TypeScript: `run_tool` with a Node."""
