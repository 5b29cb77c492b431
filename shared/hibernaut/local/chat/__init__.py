"""`hibernaut chat`: a conversation with an agent in a terminal, over the API of a server."""
