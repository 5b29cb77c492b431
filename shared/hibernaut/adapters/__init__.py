"""The adapters to the outside world: one folder per port, one module per engine.

Errors of vendors become ours here, and SDKs of vendors are imported at first use. An adapter knows its port; it knows no use
case, no other adapter, and not the layout of records.
"""
