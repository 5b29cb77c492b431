"""Direct uploads: the client sends the bytes of a large file straight to the blob store, without the API.

Only a store that clients can reach offers them (S3).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from hibernaut.schemas.immutable import immutable


@immutable
class Ticket:
    """A presigned PUT request: `url` accepts exactly these headers and one body of the announced length, once, until it
    expires.
    """

    url: str
    headers: Mapping[str, str]
    expires_at: datetime


class Uploads(Protocol):
    """Issues tickets for direct uploads."""

    def ticket(self, key: str, *, size: int, media_type: str, until: datetime) -> Ticket:
        """A ticket that lets its holder write the blob with this key, of `size` bytes, until `until`. Raises: OSError."""
