"""The port `Blobs` on a folder.

Knows: files, and how to make them durable. Must not know: the contents of a blob, or the form of its key.

A blob is the file `<area>/<two digits>/<rest>`, named by the digest of its key, so that no key can name a place outside. Its
first line is the key, for the listing of blobs. The area is the part before the key's first slash, if it is a known area. Older
data folders contain blobs without area and first line; these are read and deleted, but not listed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote, unquote

from hibernaut.ports.storage.blobs import BlobEntry

EPHEMERAL, LASTING = "ephemeral", "lasting"
"""The areas: keys that begin with `ephemeral/`, and all others."""
_WRITING = ".writing-"
_NOT_THROUGH_LINKS = getattr(os, "O_NOFOLLOW", 0)
_ABANDONED_SECONDS = 3600
"""After this long without a change a file that was being written is nobody's."""


class DiskBlobs:
    """One folder. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, key: str, data: bytes, *, durable: bool = True) -> None:
        """Write beside, then rename: a reader finds all or nothing. On the disk when it returns, if `durable`. Raises:
        OSError.
        """
        path = self._path(key)
        beside, handle = _created(path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(quote(key, safe="/", errors="surrogatepass").encode() + b"\n")
                file.write(data)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(beside, path)
        except OSError:
            Path(beside).unlink(missing_ok=True)
            raise
        for folder in (path.parent, path.parent.parent, self._folder) if durable else ():
            _settle(folder)

    def get(self, key: str) -> bytes:
        """Raises: KeyError where there is none, OSError."""
        try:
            with _opened(self._path(key)) as file:
                file.readline()
                return file.read()
        except FileNotFoundError:
            pass
        try:
            with _opened(self._former(key)) as file:
                return file.read()
        except FileNotFoundError:
            raise KeyError(key) from None

    def delete(self, key: str) -> None:
        """Delete the blob; no error if it is missing. Raises: OSError."""
        self._path(key).unlink(missing_ok=True)
        self._former(key).unlink(missing_ok=True)

    def list(self, after: str = "", *, limit: int) -> Sequence[BlobEntry]:
        """In the order of areas and digests. What a dead process was writing is deleted on the way. Raises: OSError."""
        return list(islice(self._walk(after), limit))

    def _walk(self, after: str) -> Iterator[BlobEntry]:
        for area in (EPHEMERAL, LASTING):
            for shard in _names(self._folder / area):
                if f"{area}/{shard}/~" <= after:
                    continue
                for name in _names(self._folder / area / shard):
                    place = f"{area}/{shard}/{name}"
                    if name.startswith(_WRITING):
                        _drop_abandoned(self._folder / place)
                    elif place > after and (entry := self._entry(place)):
                        yield entry

    def _entry(self, place: str) -> BlobEntry | None:
        """None: it went meanwhile, or it is a link, which no blob of ours is."""
        try:
            with _opened(self._folder / place) as file:
                key = unquote(file.readline()[:-1].decode(), errors="surrogatepass")
                return BlobEntry(key, datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC), place)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ELOOP):
                return None
            raise

    def _path(self, key: str) -> Path:
        area = EPHEMERAL if key.startswith(f"{EPHEMERAL}/") else LASTING
        digest = _digest(key)
        return self._folder / area / digest[:2] / digest[2:]

    def _former(self, key: str) -> Path:
        digest = _digest(key)
        return self._folder / digest[:2] / digest[2:]


def _opened(path: Path) -> BinaryIO:
    """The file itself, never what a link names: a link would read whatever file of the user it points to. Raises: OSError."""
    return os.fdopen(os.open(path, os.O_RDONLY | _NOT_THROUGH_LINKS), "rb")


def _created(folder: Path) -> tuple[str, int]:
    """A new file for writing, beside its final path, and its handle. Creates a missing folder. Raises: OSError."""
    path = os.path.join(folder, _WRITING + secrets.token_hex(8))
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOT_THROUGH_LINKS | getattr(os, "O_BINARY", 0)
    try:
        return path, os.open(path, flags, 0o600)
    except FileNotFoundError:
        folder.mkdir(parents=True, exist_ok=True)
        return path, os.open(path, flags, 0o600)


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []


def _drop_abandoned(path: Path) -> None:
    try:
        if time.time() - path.stat().st_mtime > _ABANDONED_SECONDS:
            path.unlink(missing_ok=True)
    except FileNotFoundError:
        return


def _settle(folder: Path) -> None:
    """Make the names in a folder durable; Windows opens no folders and does so by itself."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
