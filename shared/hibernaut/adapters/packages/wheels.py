"""Unpacks wheels: zip files with fixed destinations in an environment (PEP 427, binary distribution format). Runs no code of
them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from zipfile import BadZipFile, ZipFile, ZipInfo

from hibernaut.adapters.packages.limits import MOST_FILES, InstallQuota
from hibernaut.schemas.faults.package_faults import PackagesRefused

_LARGEST_METADATA = 1024 * 1024
_LIBRARIES = ("purelib", "platlib")
"""The folders of `*.data` that belong beside the packages. Scripts, headers and data files are of no use to a tool."""
_PIECE = 256 * 1024


def metadata_in(path: Path) -> bytes:
    """The METADATA of the wheel in a file. Raises: ValueError if it has none, or several; BadZipFile, OSError."""
    with ZipFile(path) as opened:
        found = [each for each in opened.infolist() if _is_metadata(each.filename)]
        if len(found) != 1 or found[0].file_size > _LARGEST_METADATA:
            raise ValueError("it has no METADATA, or several")
        with opened.open(found[0]) as source:
            return source.read(_LARGEST_METADATA)


def _is_metadata(name: str) -> bool:
    folder, _, file = name.partition("/")
    return folder.endswith(".dist-info") and file == "METADATA"


class Unpacking:
    """Wheels that are unpacked into one folder. Counts the files and bytes of all of them."""

    def __init__(self, folder: Path, quota: InstallQuota) -> None:
        self._folder = folder
        self._quota = quota
        self.size = 0
        self._files = 0

    def add(self, path: Path, file: str) -> None:
        """Unpack a wheel. `file`: its name, for errors. Raises: PackagesRefused, OSError."""
        try:
            with ZipFile(path) as opened:
                entries = list(_placed(opened, file))
                self._count(entries)
                for entry, place in entries:
                    self._write(opened, entry, place)
        except (BadZipFile, NotImplementedError, EOFError, RuntimeError, UnicodeError) as error:
            raise PackagesRefused(f"{file} of the index is a damaged wheel ({type(error).__name__}).") from None

    def _count(self, entries: list[tuple[ZipInfo, PurePosixPath]]) -> None:
        """Raises: PackagesRefused, before anything is written, by the sizes that the wheel states: no entry is unpacked beyond
        its own.
        """
        self._files += len(entries)
        if self._files > MOST_FILES:
            raise PackagesRefused(f"The packages have more than the {MOST_FILES} files that those of a tool may have.")
        self.size += sum(entry.file_size for entry, _ in entries)
        self._quota.check_size("The packages", self.size)

    def _write(self, opened: ZipFile, entry: ZipInfo, place: PurePosixPath) -> None:
        self._quota.seconds()
        target = self._folder / place
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            with opened.open(entry) as source, target.open("xb") as out:
                while piece := source.read(_PIECE):
                    out.write(piece)
        except (FileExistsError, IsADirectoryError, NotADirectoryError):
            raise PackagesRefused(f"Two of the packages have a file and a folder at {place}.") from None


def _placed(opened: ZipFile, file: str) -> Iterator[tuple[ZipInfo, PurePosixPath]]:
    """The files of a wheel with their places. Raises: PackagesRefused if one would be outside of the folder."""
    for entry in opened.infolist():
        place = PurePosixPath(entry.filename)
        kind = stat.S_IFMT(entry.external_attr >> 16)
        odd = place.is_absolute() or ".." in place.parts or any(each in entry.filename for each in "\\\0:") or not place.parts
        if odd or kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise PackagesRefused(f"{file} of the index has a file that is not allowed in a wheel: {entry.filename[:100]!r}.")
        if entry.is_dir():
            continue
        if place.parts[0].endswith(".data"):
            if len(place.parts) < 3 or place.parts[1] not in _LIBRARIES:
                continue
            place = PurePosixPath(*place.parts[2:])
        yield entry, place


def make_read_only(folder: Path) -> None:
    """Take away the right to write from all files and folders. Raises: OSError."""
    for parent, _, files in os.walk(folder, topdown=False):
        for name in files:
            os.chmod(os.path.join(parent, name), 0o444)
        os.chmod(parent, 0o555)  # noqa: S103 -- tools run as another user where the server is root


def remove(folder: Path) -> None:
    """Remove a folder with its contents, read-only or not; ignores errors."""
    for parent, _, _ in os.walk(folder):
        try:
            os.chmod(parent, 0o700)
        except OSError:
            continue
    for parent, folders, files in os.walk(folder, topdown=False):
        for name in (*files, *folders):
            path = os.path.join(parent, name)
            try:
                os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
            except OSError:
                continue
    try:
        os.rmdir(folder)
    except OSError:
        return
