"""Tools: schemas, arguments, returns, rules, and the built-in ones."""
