"""Uploads that do not pass through the API: the client sends the bytes of a large file straight to where blobs lie.

Only stores that speak with clients offer this (S3); elsewhere there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Ticket:
    """A PUT to `url` with exactly these headers, before it expires: it takes one body of the announced length, once."""

    url: str
    headers: Mapping[str, str]
    expires_at: datetime


class Uploads(Protocol):
    def ticket(self, key: str, *, size: int, media_type: str, until: datetime) -> Ticket:
        """Allow whoever holds it to write the blob of this key, of `size` bytes. Raises: OSError."""
