"""AWS in one process, on moto: for the profile `aws-offline` and for tests.

Only this package may import moto, and only when it is called.
"""
