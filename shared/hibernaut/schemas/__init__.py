"""The records as pydantic models with Letta's field names, and the request models for them. No I/O, no clock, no environment."""
