"""What the headers of an HTTP request can hold. Knows no provider."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SENDABLE = re.compile(r"[\x20-\x7e]*")


def sendable(headers: Mapping[str, str]) -> bool:
    """Whether all values can be sent. A key that was pasted with its line break cannot; an HTTP library would quote it in its
    error.
    """
    return all(_SENDABLE.fullmatch(value) for value in headers.values())
