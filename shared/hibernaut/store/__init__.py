"""The records over the `Table` port: keys, codec, a repository per noun, the step transaction.

The only place that knows how a noun is laid out in a table; it does not know which engine the table is.
"""
