"""Engines of the `Workflow` port: Step Functions on AWS, threads locally."""
