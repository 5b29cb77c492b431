"""Engines of the `Table` port: SQLite at home, DynamoDB on AWS.

Each engine is its own module and imports none of the others; what both must do alike (limits, conditions, bounds) stands beside them.
"""
