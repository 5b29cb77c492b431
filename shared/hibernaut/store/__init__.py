"""The records over the `Table` port: keys, codec, one small repository per noun, the step transaction.

The only place that knows how a noun is laid out in a table; the same code serves every engine.
"""
