"""The function that performs one step of a run, called by the state machine for each heartbeat."""
