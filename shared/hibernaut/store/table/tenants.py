"""Validation of tenant names. A name is part of item keys and blob keys, so it must not be able to denote another place."""

from __future__ import annotations

import re
from functools import lru_cache

from hibernaut.schemas.errors import InvalidArgument

LONGEST = 40
"""The largest length of a tenant's name, in characters."""
RESERVED = frozenset({"ephemeral", "files", "records", "texts", "uploads"})
"""The prefixes of blob keys."""
_FORM = re.compile(rf"[a-z0-9](?:[a-z0-9-]{{0,{LONGEST - 2}}}[a-z0-9])?")


def is_tenant(name: str) -> bool:
    """Whether the tenant name is valid: 1 to 40 characters of a-z, 0-9 and inner hyphens, and no reserved word."""
    return _FORM.fullmatch(name) is not None and name not in RESERVED


@lru_cache(maxsize=1024)
def checked(name: str) -> str:
    """The name itself, if it is a valid tenant name. Raises: InvalidArgument."""
    if is_tenant(name):
        return name
    reserved = ", ".join(sorted(RESERVED))
    raise InvalidArgument(
        f"INVALID_ARGUMENT: {name[: 2 * LONGEST]!r} cannot name a tenant. Use 1 to {LONGEST} of the characters a-z, 0-9 and -, the first and "
        f"the last no hyphen, and none of the reserved words {reserved}."
    )
