"""Reads messages and the event logs of runs, and reports them to followers and callbacks."""
