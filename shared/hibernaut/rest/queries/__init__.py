"""The query strings and form bodies of the routes, as models that return the arguments of use cases."""
