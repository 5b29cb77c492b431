"""The packages of tools in the function `run_tool`: one zip file per set, with an address that the caller has signed, because
this function's role has no permissions. Each execution environment fetches it once, checks its hash, and unpacks it in the
temporary folder.

An execution environment serves one agent, so that a tool can change these files only for its own agent.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import threading
import zipfile
from pathlib import Path

from hibernaut.ports.tools.tool_runner import PackagesMissing
from hibernaut.schemas.base import JsonObject

MOST_SETS = 3
"""Sets that an execution environment keeps; the oldest one goes first."""
_DIGEST = re.compile(r"[0-9a-f]{64}")
_PIECE = 256 * 1024


class FetchedPackages:
    """The packages of the function's sandbox. Thread-safe. `folder`: the folder of the sets."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or Path(tempfile.gettempdir()) / "hibernaut-packages"
        self._lock = threading.Lock()

    def place(self, packages: JsonObject, seconds: float) -> str:
        """The folder of a set. Raises: PackagesMissing."""
        match packages:
            case {"digest": str(digest), "archive": str(archive), "url": str(url), "size": int(size)} if _DIGEST.fullmatch(
                digest
            ):
                place = self._folder / digest
            case _:
                raise PackagesMissing("its packages are not known: save the tool again")
        if not place.is_dir():
            with self._lock:
                if not place.is_dir():
                    self._fetch(place, url, archive, size, seconds)
        return str(place)

    def _fetch(self, place: Path, url: str, archive: str, size: int, seconds: float) -> None:
        self._make_room()
        with tempfile.TemporaryDirectory(dir=self._folder, prefix=".fetching-") as work:
            zipped, lib = Path(work) / "zip", Path(work) / "lib"
            try:
                if _downloaded(url, zipped, 2 * size + _PIECE, seconds) != archive:
                    raise PackagesMissing("its packages are not those that were chosen: save the tool again")
                with zipfile.ZipFile(zipped) as opened:
                    opened.extractall(lib)
            except (OSError, zipfile.BadZipFile) as error:
                # The text of an error may contain the address, whose signature is a secret.
                raise PackagesMissing(f"its packages cannot be fetched ({type(error).__name__})") from None
            lib.rename(place)

    def _make_room(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        sets = sorted((each for each in self._folder.iterdir() if _DIGEST.fullmatch(each.name)), key=os.path.getmtime)
        for oldest in sets[: max(0, len(sets) - MOST_SETS + 1)]:
            shutil.rmtree(oldest, ignore_errors=True)


def _downloaded(url: str, to: Path, most: int, seconds: float) -> str:
    """The SHA-256 of a file of at most `most` bytes. Raises: OSError."""
    import requests  # imported where packages are fetched: calls with fetched ones, and those without, pay nothing

    summed, got = hashlib.sha256(), 0
    with requests.get(url, stream=True, timeout=min(seconds, 20.0), allow_redirects=False) as answer, to.open("wb") as out:
        if answer.status_code != requests.codes.ok:
            raise OSError(f"status {answer.status_code}")
        for piece in answer.iter_content(_PIECE):
            got += len(piece)
            if got > most:
                raise OSError("more bytes than the set has")
            summed.update(piece)
            out.write(piece)
    return summed.hexdigest()
