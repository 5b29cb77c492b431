"""How well memory is found again, by four ways of searching, on both engines of the index."""
