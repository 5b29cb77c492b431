"""The nouns: one pydantic model per record, in Letta's field names, and the request models beside it. No I/O, clock or environment."""
