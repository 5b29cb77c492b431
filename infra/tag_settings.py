"""The tags of the stack's resources in the context, for the allocation of costs. Plain values."""

from __future__ import annotations

import re
from collections.abc import Mapping

MOST_TAGS = 40
"""AWS takes 50 for a resource, and the stack and CloudFormation add some of their own."""
_KEY = re.compile(r"(?!aws:)[\w .:/=+@-]{1,128}", re.IGNORECASE)
_VALUE = re.compile(r"[\w .:/=+@-]{0,256}")


def tags_in(context: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """The tags in the context. Raises: ValueError."""
    found: dict[str, str] = {}
    for part in str(context.get("tags", "")).split(","):
        if not part.strip():
            continue
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not _KEY.fullmatch(key) or not _VALUE.fullmatch(value):
            raise ValueError(
                f"tags must be pairs like team=search,cost-centre=42, of letters, digits, spaces and . : / = + - @ _, not {part.strip()!r}"
            )
        if key in found:
            raise ValueError(f"tags names {key!r} twice")
        found[key] = value
    if len(found) > MOST_TAGS:
        raise ValueError(f"tags may be {MOST_TAGS}, not {len(found)}")
    return tuple(found.items())
