"""Amazon Bedrock: Claude by the Messages API, OpenAI's models by their own API, all others by Converse. Decision 24 has the
endpoints.
"""
