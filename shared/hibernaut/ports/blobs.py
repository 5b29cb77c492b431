"""Bytes too large for the table. Keys are made by `store.keys`; a blob is written once and never changed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol


class BlobEntry(NamedTuple):
    """A blob as a list shows it: its key, when it was written, and its place in the engine's order."""

    key: str
    at: datetime
    place: str


class Blobs(Protocol):
    def put(self, key: str, data: bytes) -> None:
        """Write; durable when it returns. Raises: OSError."""

    def get(self, key: str) -> bytes:
        """Raises: KeyError where there is none, OSError."""

    def delete(self, key: str) -> None:
        """Gone afterwards, also if it never was. Raises: OSError."""

    def list(self, after: str = "", *, limit: int) -> Sequence[BlobEntry]:
        """At most `limit` blobs (1 to 1,000) behind a place, in the engine's order. Fewer than `limit`: there are no more.

        The order never changes: who asks on from the last entry's place sees every blob that stays. Raises: OSError.
        """
