"""Engines of the ports of events: threads locally; a Lambda function and EventBridge on AWS."""
