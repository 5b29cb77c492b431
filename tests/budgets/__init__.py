"""How much of the table each read of the API may take, however much there is."""
