"""AWS in one process, on moto: for the profile `aws-offline` and for tests.

Only what is here may import moto, and only when it is called.
"""
