"""The data folder of the embedded profile: locked by one process, private to its user, and marked with the user's own key.

    lock           locked by the process that has the folder open
    owner          the folder's mark: a MAC under the user's key of the folder's path and of the time of change of `lock`
    hibernaut.db   the table
    index.db       the index of memory
    secrets.key    the master key of stored secrets, from the first secret on
    blobs/         large bodies

The user's key is stored outside every data folder, and no copy takes the time of change (ctime) of a file along. A folder that
was copied, moved, unpacked, put back from a copy, or prepared by somebody else therefore has no valid mark, and its unfinished
work is not resumed until the user permits it. Unlike inodes and devices, the time of change is the same after a restart on every
file system, and never used again. Knows the file system. Must not know the contents of the files.
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
LOCK, OWNER, SECRETS = "lock", "owner", "secrets.key"
DATABASES = tuple(name + suffix for name in (TABLE, INDEX) for suffix in ("", "-wal", "-shm", "-journal"))
KEY_BYTES = 32
logger = logging.getLogger(__name__)


class DataFolderUnusable(OSError):
    """The data folder cannot be used. The message says why and what to do."""


class DataFolderInUse(DataFolderUnusable):
    """Another process has the data folder open."""


class DataFolder:
    """An open data folder. A missing folder is created. Its modes are 0700 for folders and 0600 for files from then on.

    `key`: the file of the user's key, which is created if it is missing; None: the caller vouches for the folder, which counts as
    the user's own. `own`: whether the folder has the user's mark.
    """

    def __init__(self, path: Path, key: Path | None = None) -> None:
        """Raises: DataFolderUnusable."""
        self.path = path
        self._key = key
        self._lock = _locked(path)
        try:
            _protect(path)
            self.own = key is None or self._is_marked()
        except BaseException:  # after any failure the lock must be released
            self.close()
            raise

    def claim(self) -> None:
        """Mark the folder as the user's own. The folder stays as it is if the key can be neither read nor created."""
        mark = self._mark()
        if mark is not None and _read(self.path / OWNER) != mark:
            _written(self.path / OWNER, mark)
        self.own = True

    def close(self) -> None:
        """Release the lock."""
        os.close(self._lock)

    def _is_marked(self) -> bool:
        found, marks = _read(self.path / OWNER), (self._mark(), self._mark_of_path())
        return any(mark is not None and hmac.compare_digest(found, mark) for mark in marks)

    def _mark(self) -> bytes | None:
        return self._signed(b"\0%d" % os.fstat(self._lock).st_ctime_ns)

    def _mark_of_path(self) -> bytes | None:
        """The mark that older releases wrote. A copy has it too, if it is put where the folder was."""
        return self._signed()

    def _signed(self, more: bytes = b"") -> bytes | None:
        key = _user_key(self._key) if self._key else None
        return hmac.new(key, os.fsencode(self.path.resolve()) + more, "sha256").hexdigest().encode() if key else None


def is_open(path: Path) -> bool:
    """Whether a process has the data folder open. Raises: DataFolderUnusable."""
    try:
        os.close(_locked(path))
    except DataFolderInUse:
        return True
    return False


def check_links(path: Path) -> None:
    """Raises: DataFolderUnusable if one of the folder's files is a symbolic link, a special file or a folder."""
    for place, is_file in _places(path):
        _mode(place, is_file=is_file)


def _locked(path: Path) -> int:
    """The descriptor of the folder's lock file. Raises: DataFolderUnusable."""
    try:
        import fcntl
    except ImportError as error:
        raise DataFolderUnusable(
            "The server runs on Linux and macOS: this system cannot lock a data folder. On Windows, run it in WSL."
        ) from error
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        _mode(path / LOCK, is_file=True)
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
        raise DataFolderInUse(
            f"The data folder {path} is open in another process. Stop that one or choose another folder."
        ) from error
    return lock


def _protect(path: Path) -> None:
    """Set the private modes of the folder and its files, and create the databases with theirs, because SQLite would use the
    process's umask. Raises: DataFolderUnusable.
    """
    try:
        for place, is_file in _places(path):
            mode = _mode(place, is_file=is_file)
            if mode is not None and (private_mode := 0o700 if stat.S_ISDIR(mode) else 0o600) != stat.S_IMODE(mode):
                place.chmod(private_mode)
        for name in (TABLE, INDEX):
            os.close(os.open(path / name, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    except PermissionError as error:
        if path.stat().st_uid == os.getuid():
            raise DataFolderUnusable(f"{error.filename} cannot be written: {error.strerror}. Choose another folder.") from error
        logger.warning("data folder belongs to another user, its modes stay", extra={"folder": str(path)})


def _places(path: Path) -> Iterator[tuple[Path, bool]]:
    """The folder and the server's files in it, and whether each must be a file. Blobs are in subfolders of `blobs`; a private
    subfolder makes its files private.
    """
    yield path.resolve(), False
    yield from ((path / name, True) for name in (LOCK, OWNER, SECRETS, *DATABASES))
    blobs = path / BLOBS
    yield blobs, False
    if blobs.is_dir() and not blobs.is_symlink():
        yield from ((each, False) for each in blobs.iterdir())


def _mode(place: Path, *, is_file: bool) -> int | None:
    """The mode of a file, or also of a folder unless it `is_file`; None if it does not exist.

    Raises: DataFolderUnusable for any other type, for example a symbolic link.
    """
    try:
        mode = place.lstat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISREG(mode) or (stat.S_ISDIR(mode) and not is_file):
        return mode
    what = "a symbolic link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "neither a file nor a folder"
    raise DataFolderUnusable(f"{place} is {what} and is not opened. Remove it, or choose another folder with --data-dir.")


def _user_key(file: Path) -> bytes | None:
    """The user's key, created atomically at its first use. None if it can be neither read nor created."""
    try:
        if key := _read(file):
            return key
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
        _written(part, secrets.token_hex(KEY_BYTES).encode())
        try:
            os.link(part, file)  # of several processes the first one creates the key
        except FileExistsError:
            pass
        finally:
            part.unlink()
        return _read(file)
    except OSError as error:
        logger.warning("data folder cannot be marked as this user's", extra={"key": str(file), "reason": error.strerror})
        return None


def _read(file: Path) -> bytes:
    """The bytes of a file; empty if it does not exist. Raises: OSError, also for a symbolic link."""
    try:
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as opened:
            return opened.read()
    except FileNotFoundError:
        return b""


def _written(file: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(file, flags, 0o600), "wb") as opened:
        opened.write(data)
