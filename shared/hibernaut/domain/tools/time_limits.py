"""The time limit that a tool has of its own: `timeout_seconds` in its metadata, which V1 does not read. Pure."""

from __future__ import annotations

import math
from typing import TypeGuard

from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import InvalidArgument

KEY = "timeout_seconds"


def seconds_of(metadata: JsonObject | None, most: float) -> float:
    """The time limit of a tool with this metadata in seconds: its own one, and never more than `most`."""
    own = (metadata or {}).get(KEY)
    return min(float(own), most) if _is_limit(own) else most


def check(metadata: JsonObject | None) -> None:
    """Raises: InvalidArgument if the metadata names something else than a number of seconds above zero."""
    own = (metadata or {}).get(KEY)
    if own is not None and not _is_limit(own):
        raise InvalidArgument(
            f"INVALID_ARGUMENT: {KEY} in the metadata of a tool must be a number of seconds above 0, not {str(own)[:80]!r}."
        )


def _is_limit(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf
