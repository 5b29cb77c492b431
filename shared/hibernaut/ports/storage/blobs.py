"""Storage for bytes that are too large for the table. `store.table.keys` makes the keys; a blob is written once and never
changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol


class BlobEntry(NamedTuple):
    """One entry of a blob listing: the key, the time of writing, and the cursor from which the listing goes on."""

    key: str
    at: datetime
    place: str


class Blobs(Protocol):
    """The blob store. Thread-safe."""

    def put(self, key: str, data: bytes, *, durable: bool = True) -> None:
        """Write the blob under its key. It is durable when the call returns, unless `durable` is False: then it outlives the
        process, but a failure of the machine may lose or truncate it. Raises: OSError.
        """

    def get(self, key: str) -> bytes:
        """The bytes of the blob. Raises: KeyError if there is no such blob, OSError."""

    def delete(self, key: str) -> None:
        """Delete the blob; a missing blob is no error. Raises: OSError."""

    def list(self, after: str = "", *, limit: int) -> Sequence[BlobEntry]:
        """Up to `limit` blobs (1 to 1,000) after the cursor `after`, in the engine's order. Fewer than `limit` entries mean the
        end of the listing.

        The order is stable: a caller that continues from the last entry's cursor sees every blob that is not deleted meanwhile.
        Raises: OSError.
        """
