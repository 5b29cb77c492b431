"""The records over the `Table` port: keys, codec, one small repository per noun, and the transactions of the run protocol.

Only this package knows the layout of a noun in the table. The same code serves every engine.
"""
