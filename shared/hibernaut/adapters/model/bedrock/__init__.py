"""Amazon Bedrock: Claude by the Messages API, OpenAI's models by their own API, all others by Converse. Decision 24 has the endpoints."""

NAME = "bedrock"
"""The first part of the handles, and V1's `model_endpoint_type`."""


def runtime_url(region: str) -> str:
    """The address that models are invoked at (docs.aws.amazon.com/general/latest/gr/bedrock.html)."""
    return f"https://bedrock-runtime.{region}.amazonaws.com"


def control_url(url: str) -> str:
    """The address that lists models, for the runtime's address. Both are one if `url` is not AWS's own."""
    return url.replace("://bedrock-runtime.", "://bedrock.", 1)
