"""Use cases: classes whose fields are stores and ports.

They hold the order of things and nothing that belongs to one provider, one engine or HTTP.
"""
