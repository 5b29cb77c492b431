"""`hibernaut doctor`: says in plain words what is wrong with a data folder or a deployed stack, and what to do."""
