"""What the commands do to agents, data folders and deployed stacks."""
