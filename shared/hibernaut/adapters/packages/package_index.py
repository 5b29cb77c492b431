"""A client of a package index: pages, metadata and wheels, within a quota and through the door (decision 51).

The operator names the index; the index names its files, wherever they are. So a file's address is judged like that of a stranger,
except that the index's own host may be private.
"""

from __future__ import annotations

import base64
import hashlib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit
from zipfile import BadZipFile

from hibernaut.adapters.addresses import AddressPolicy, Resolve, addresses_of
from hibernaut.adapters.door import Door
from hibernaut.adapters.packages.index_pages import ACCEPT, RETRY, Project, Wheel, project_of
from hibernaut.adapters.packages.limits import MEGABYTE, InstallQuota
from hibernaut.adapters.packages.target import WheelTarget
from hibernaut.adapters.packages.wheels import metadata_in
from hibernaut.schemas.faults.package_faults import PackageIndexUnavailable, PackagesRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    from httpx2 import Client

LARGEST_PAGE = 32 * MEGABYTE
LARGEST_METADATA = MEGABYTE
_SILENCE = 20.0
"""Seconds of silence after which the index does not answer."""
_TRIES = 2
_PIECE = 64 * 1024


class _NotThere(Exception):
    """The index answers that it has no such page or file."""


class PackageIndex:
    """An index of the simple API. `address`: of its root, with a user and a password if it wants them. `policy`: the private
    addresses that clients may name. Thread-safe: each installation opens a session of its own.
    """

    def __init__(self, address: str, policy: AddressPolicy, resolve: Resolve = addresses_of) -> None:
        parts = urlsplit(address)
        self._root = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}/"
        self._origin = _origin(self._root)
        credentials = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        self._authorization = "Basic " + base64.b64encode(credentials.encode()).decode() if parts.username else None
        host = (parts.hostname or "").lower().removesuffix(".")
        self._door = Door(replace(policy, hosts=policy.hosts | {host}), resolve)

    def session(self, quota: InstallQuota, folder: Path) -> IndexSession:
        """The requests of one installation; wheels are stored in `folder`."""
        return IndexSession(self, quota, folder)

    def connect(self, seconds: float) -> Client:
        """A client that follows redirects within the outbound policy, with a timeout of `seconds`."""
        return self._door.client(seconds, follow_redirects=True)

    def page(self, project: str) -> str:
        """The address of a project's page, by its normalized name."""
        return f"{self._root}{quote(project, safe='')}/"

    def headers(self, url: str) -> dict[str, str]:
        """The headers of a request; the password goes to the index's own origin alone."""
        mine = {"authorization": self._authorization} if self._authorization and _origin(url) == self._origin else {}
        return {"user-agent": "hibernaut", "accept-encoding": "identity", **mine}


class IndexSession:
    """The requests of one installation. A context manager; not thread-safe."""

    def __init__(self, index: PackageIndex, quota: InstallQuota, folder: Path) -> None:
        self._index = index
        self._quota = quota
        self._folder = folder
        self._target = WheelTarget()
        self._projects: dict[str, Project | None] = {}
        self._metadata: dict[str, bytes] = {}
        self._wheels: dict[str, str] = {}
        self._client = index.connect(min(_SILENCE, quota.seconds()))

    def __enter__(self) -> IndexSession:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    @property
    def target(self) -> WheelTarget:
        return self._target

    def project(self, name: str) -> Project | None:
        """The project of this normalized name; None if the index has none. Raises: PackagesRefused, PackageIndexUnavailable."""
        if name not in self._projects:
            self._projects[name] = self._read(name)
        return self._projects[name]

    def _read(self, name: str) -> Project | None:
        data, url = bytearray(), self._index.page(name)
        try:
            kind = self._get(url, data.extend, LARGEST_PAGE, f"the page of {name}", ACCEPT)
        except _NotThere:
            return None
        return project_of(name, bytes(data), kind, url, self._target)

    def metadata(self, wheel: Wheel) -> bytes:
        """The METADATA of a wheel: its own file in the index, else read out of the wheel. Raises: PackagesRefused,
        PackageIndexUnavailable.
        """
        if wheel.file not in self._metadata:
            found = self._own_metadata(wheel) if wheel.metadata else None
            self._metadata[wheel.file] = found if found is not None else self.inner_metadata(wheel)
        return self._metadata[wheel.file]

    def _own_metadata(self, wheel: Wheel) -> bytes | None:
        data = bytearray()
        try:
            self._get(f"{wheel.url}.metadata", data.extend, LARGEST_METADATA, f"the metadata of {wheel.file}")
        except _NotThere:
            return None
        if wheel.metadata_sha256 not in (None, hashlib.sha256(data).hexdigest()):
            raise _wrong_hash(f"{wheel.file}.metadata")
        return bytes(data)

    def inner_metadata(self, wheel: Wheel) -> bytes:
        """The METADATA inside of a wheel. Raises: PackagesRefused, PackageIndexUnavailable, OSError."""
        path, _ = self.download(wheel)
        try:
            return metadata_in(path)
        except (BadZipFile, OSError, ValueError) as error:
            raise PackagesRefused(f"{wheel.file} of the index is not a wheel: {error}") from None

    def download(self, wheel: Wheel) -> tuple[Path, str]:
        """The file of a wheel, and its SHA-256, which is that of the index. Raises: PackagesRefused, PackageIndexUnavailable,
        OSError.
        """
        path = self._folder / wheel.file
        if wheel.file not in self._wheels:
            self._quota.check_size(f"{wheel.file} alone", wheel.size or 0)
            summed = hashlib.sha256()
            with path.open("wb") as out:

                def take(piece: bytes) -> None:
                    out.write(piece)
                    summed.update(piece)

                try:
                    self._get(wheel.url, take, self._quota.limits.size, wheel.file)
                except _NotThere:
                    raise PackagesRefused(f"The index lists {wheel.file} but does not have the file.") from None
            digest = summed.hexdigest()
            if wheel.sha256 not in (None, digest):
                path.unlink()
                raise _wrong_hash(wheel.file)
            self._wheels[wheel.file] = digest
        return path, self._wheels[wheel.file]

    def _get(self, url: str, take: Callable[[bytes], object], most: int, what: str, accept: str = "*/*") -> str:
        """Pass the body of an answer on in pieces; its content type. A failure before the first piece is tried once more.

        Raises: _NotThere, PackagesRefused, PackageIndexUnavailable.
        """
        import httpx2

        for attempt in range(_TRIES):
            begun = False

            def counted(piece: bytes) -> None:
                nonlocal begun
                begun = True
                take(piece)

            try:
                return self._once(url, counted, most, what, accept)
            except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
                if begun or attempt == _TRIES - 1:
                    raise PackageIndexUnavailable(
                        f"The package index did not send {what}: {_reason(error)}; try again.", RETRY
                    ) from None
        raise AssertionError("every attempt returns or raises")

    def _once(self, url: str, take: Callable[[bytes], object], most: int, what: str, accept: str) -> str:
        import httpx2

        timeout = min(_SILENCE, self._quota.request())
        with self._client.stream("GET", url, headers={**self._index.headers(url), "accept": accept}, timeout=timeout) as answer:
            if answer.status_code in (404, 410):
                raise _NotThere
            if answer.status_code != httpx2.codes.OK or answer.headers.get("content-encoding", "identity") != "identity":
                raise httpx2.TransportError(f"status {answer.status_code}")
            stated_length, got = answer.headers.get("content-length", ""), 0
            if stated_length.isdecimal():
                self._check(what, int(stated_length), most)
            for piece in answer.iter_raw(_PIECE):
                got += len(piece)
                self._check(what, got, most)
                self._quota.received(len(piece))
                take(piece)
            return str(answer.headers.get("content-type", ""))

    def _check(self, what: str, size: int, most: int) -> None:
        if size > most:
            self._quota.check_size(what, size)
            raise PackagesRefused(f"{what} has more than the {most // MEGABYTE} MB that it may have.")


def _reason(error: Exception) -> str:
    """What an error says. The text of most errors may contain the address, and that a token."""
    from hibernaut.adapters.pinned_transport import AddressRefused

    return f"its address {error}" if isinstance(error, AddressRefused) else type(error).__name__


def _wrong_hash(file: str) -> PackagesRefused:
    return PackagesRefused(
        f"{file} does not have the hash that the index states for it. It was damaged or exchanged on its way; nothing was installed."
    )


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    port = None
    with suppress(ValueError):
        port = parts.port
    return parts.scheme, (parts.hostname or "").lower(), port or {"http": 80, "https": 443}.get(parts.scheme)
