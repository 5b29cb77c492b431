"""Routes of runs, their streams, steps, jobs and usage."""
