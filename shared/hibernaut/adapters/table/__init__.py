"""Engines of the `Table` port: SQLite at home, DynamoDB on AWS.

Each engine imports none of the others; what both must do alike (limits, conditions, bounds) stands in modules beside them.
"""
