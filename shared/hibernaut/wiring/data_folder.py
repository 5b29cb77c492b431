"""The data folder of the embedded profile: locked by one process, private to its user, and marked by the user's own key.

    lock           held by the process that has the folder open
    owner          the folder's mark: a MAC of its path under the user's key
    hibernaut.db   the table
    index.db       the index of memory
    blobs/         large bodies

The user's key lies outside every data folder. A folder that was copied, moved, unpacked or prepared by somebody else therefore bears no
valid mark, and what it holds is not resumed before the user says so. Knows the file system. Must not know what the files hold.
"""

from __future__ import annotations

import hmac
import logging
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

TABLE, INDEX, BLOBS = "hibernaut.db", "index.db", "blobs"
LOCK, OWNER = "lock", "owner"
DATABASES = tuple(name + suffix for name in (TABLE, INDEX) for suffix in ("", "-wal", "-shm", "-journal"))
KEY_BYTES = 32
logger = logging.getLogger(__name__)


class DataFolderUnusable(OSError):
    """The data folder cannot be used; the text says why and what to do."""


class DataFolderTaken(DataFolderUnusable):
    """Another process has it open."""


class DataFolder:
    """An open data folder; made where it is missing. Its modes are 0700 for folders and 0600 for files from then on.

    `key`: the file that holds the user's key, made where it is missing; None: the caller answers for the folder, and it counts as
    its own. `own` says whether the folder bears the user's mark.
    """

    def __init__(self, path: Path, key: Path | None = None) -> None:
        """Raises: DataFolderUnusable."""
        self.path = path
        self._key = key
        self._lock = _locked(path)
        try:
            _protect(path)
            self.own = key is None or self._is_marked()
        except BaseException:  # whatever stops it, the lock must not stay held behind it
            self.close()
            raise

    def claim(self) -> None:
        """Mark the folder as the user's own. Without a key that can be read or made it stays unmarked."""
        if not self.own and (mark := self._mark()):
            _written(self.path / OWNER, mark)
        self.own = True

    def close(self) -> None:
        os.close(self._lock)

    def _is_marked(self) -> bool:
        mark = self._mark()
        return mark is not None and hmac.compare_digest(_read(self.path / OWNER), mark)

    def _mark(self) -> bytes | None:
        key = _user_key(self._key) if self._key else None
        return hmac.new(key, os.fsencode(self.path.resolve()), "sha256").hexdigest().encode() if key else None


def is_open(path: Path) -> bool:
    """Whether a process has the data folder open. Raises: DataFolderUnusable."""
    try:
        os.close(_locked(path))
    except DataFolderTaken:
        return True
    return False


def check_links(path: Path) -> None:
    """Refuse a folder in which a symbolic link stands in place of one of its files. Raises: DataFolderUnusable."""
    for place in _places(path):
        _mode(place)


def _locked(path: Path) -> int:
    """The descriptor of the folder's lock file. Raises: DataFolderUnusable."""
    import fcntl

    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        _mode(path / LOCK)
        lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except DataFolderUnusable:
        raise
    except OSError as error:
        raise DataFolderUnusable(
            f"The data folder {path} cannot be written: {error.strerror}. Choose another with --data-dir."
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise DataFolderTaken(
            f"The data folder {path} is open in another process. Stop that one or choose another folder."
        ) from error
    return lock


def _protect(path: Path) -> None:
    """Take the modes of the folder and its files back from everybody else, and make the databases with theirs: SQLite would use the
    process's mask. Raises: DataFolderUnusable."""
    try:
        for place in _places(path):
            mode = _mode(place)
            if mode is not None and (wanted := 0o700 if stat.S_ISDIR(mode) else 0o600) != stat.S_IMODE(mode):
                place.chmod(wanted)
        for name in (TABLE, INDEX):
            os.close(os.open(path / name, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    except PermissionError as error:
        if path.stat().st_uid == os.getuid():
            raise DataFolderUnusable(f"{error.filename} cannot be written: {error.strerror}. Choose another folder.") from error
        logger.warning("data folder belongs to another user, its modes stay", extra={"folder": str(path)})


def _places(path: Path) -> Iterator[Path]:
    """The folder and what it may hold of ours. Blobs lie in folders of their own, which are private when these are."""
    yield path.resolve()
    yield from (path / name for name in (LOCK, OWNER, *DATABASES, BLOBS))
    blobs = path / BLOBS
    if blobs.is_dir() and not blobs.is_symlink():
        yield from blobs.iterdir()


def _mode(place: Path) -> int | None:
    """The mode of a file or folder; None where there is none. Raises: DataFolderUnusable for anything else, a symbolic link first."""
    try:
        mode = place.lstat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return mode
    what = "a symbolic link" if stat.S_ISLNK(mode) else "neither a file nor a folder"
    raise DataFolderUnusable(f"{place} is {what} and is not opened. Remove it, or choose another folder with --data-dir.")


def _user_key(file: Path) -> bytes | None:
    """The user's key; made at first use, whole or not at all. None where it can neither be read nor made."""
    try:
        if key := _read(file):
            return key
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
        _written(beside, secrets.token_hex(KEY_BYTES).encode())
        try:
            os.link(beside, file)  # the first of several processes makes the key
        except FileExistsError:
            pass
        finally:
            beside.unlink()
        return _read(file)
    except OSError as error:
        logger.warning("data folder cannot be marked as this user's", extra={"key": str(file), "reason": error.strerror})
        return None


def _read(file: Path) -> bytes:
    """The bytes of a file that is no link; none where there is no file. Raises: OSError."""
    try:
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as opened:
            return opened.read()
    except FileNotFoundError:
        return b""


def _written(file: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(file, flags, 0o600), "wb") as opened:
        opened.write(data)
