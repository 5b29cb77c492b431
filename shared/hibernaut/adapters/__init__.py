"""The world: one folder per port, one module per engine.

Vendors' errors become ours at this edge, and vendors' SDKs are imported at first use. An adapter knows its port; it knows no use case,
no other adapter, and not how records are laid out.
"""
