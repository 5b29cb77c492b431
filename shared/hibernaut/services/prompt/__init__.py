"""What an agent's model is told: the system message, the sections of its files, and the measure of it all."""
