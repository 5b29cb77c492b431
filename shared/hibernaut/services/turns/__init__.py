"""The engine of runs: advancing a run, committing its steps, compaction, approvals, and termination."""
