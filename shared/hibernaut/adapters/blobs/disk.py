"""The port `Blobs` on a folder.

Knows: files, and what makes one durable. Must not know: what is kept in a blob, or how its key is made.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

_NOT_THROUGH_LINKS = getattr(os, "O_NOFOLLOW", 0)
"""A blob is a file that was written here: a link would read whatever file of the user it names."""


class DiskBlobs:
    """One folder; each blob is a file named by its key's digest, so that no key can name a place outside. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, key: str, data: bytes) -> None:
        """Write beside, then rename: a reader finds all or nothing. On the disk when it returns. Raises: OSError."""
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(beside).replace(path)
        except OSError:
            Path(beside).unlink(missing_ok=True)
            raise
        for folder in (path.parent, self._folder):
            _settle(folder)

    def get(self, key: str) -> bytes:
        """Raises: KeyError where there is none, OSError, also where a symbolic link stands in its place."""
        try:
            with os.fdopen(os.open(self._path(key), os.O_RDONLY | _NOT_THROUGH_LINKS), "rb") as file:
                return file.read()
        except FileNotFoundError:
            raise KeyError(key) from None

    def delete(self, key: str) -> None:
        """Gone afterwards, also if it never was. Raises: OSError."""
        self._path(key).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        digest = hashlib.sha256(key.encode()).hexdigest()
        return self._folder / digest[:2] / digest[2:]


def _settle(folder: Path) -> None:
    """Make the names in a folder durable; Windows opens no folders and does so by itself."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
