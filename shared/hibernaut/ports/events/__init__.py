"""Ports of events: the bus, deliveries, sockets."""
