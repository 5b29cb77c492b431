"""The endpoints of Amazon Bedrock: addresses by region, and paths of operations. Knows no setting and no connection."""

from __future__ import annotations

import re
from urllib.parse import quote

NAME = "bedrock"
"""The first part of the handles, and V1's `model_endpoint_type`."""

ACCEPT = {"Accept": "application/json"}
"""The type of the model's own reply (InvokeModel, `accept`), which is JSON also inside an event stream."""
_REGION = re.compile(r"[a-z]{2,3}(?:-[a-z]+)+-\d{1,2}")


def is_region(name: str) -> bool:
    """Whether this has the form of a region's name. It becomes part of an address."""
    return _REGION.fullmatch(name) is not None


def runtime_url(region: str) -> str:
    """The address that models are invoked at (docs.aws.amazon.com/general/latest/gr/bedrock.html)."""
    return f"https://bedrock-runtime.{region}.amazonaws.com"


def control_url(url: str) -> str:
    """The address that lists models, for the runtime's address. Both are one if `url` is not AWS's own."""
    return url.replace("://bedrock-runtime.", "://bedrock.", 1)


def path_of(model: str, operation: str) -> str:
    """The path of an operation of the runtime. The id stands in it as one segment, as the AWS SDKs write it."""
    return f"/model/{quote(model, safe='')}/{operation}"
