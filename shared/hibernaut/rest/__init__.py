"""The HTTP face: a router per resource, one error table, one app for every profile.

Knows requests, responses and status codes; it does not know which adapters stand behind the services.
"""
