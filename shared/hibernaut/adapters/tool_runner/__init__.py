"""The sandboxes for custom tools: a child process of this machine, and the `run_tool` function on AWS. They know only tool
jobs.
"""
