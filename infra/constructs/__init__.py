"""The parts of the stack, one construct per module: storage, functions, workflow, gateway, schedule, alarms."""
