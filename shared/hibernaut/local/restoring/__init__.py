"""`hibernaut restore --env`: brings a deployed stack back to a moment, from the backups of its table and the versions of its
bucket.
"""
