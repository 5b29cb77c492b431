"""`hibernaut backup` and `restore` of a data folder: one file with the table, the large bodies and the master key of stored
secrets.

A server may have the folder open during a backup. SQLite copies a consistent state of the table. The bodies are copied before and
after the table, because a body is written before the item that names it. The backup omits the index, which the server rebuilds.
The file is as secret as the folder.
"""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.adapters.table.sqlite_check import FileDamaged, copy_online, faults_of, format_of
from hibernaut.adapters.table.sqlite_rows import FORMAT
from hibernaut.local.profiles import CannotServe
from hibernaut.wiring.data_folder import BLOBS, SECRETS, TABLE, DataFolderUnusable, check_links, is_open

ATTEMPTS = 5
"""A body that is deleted while it is copied makes the backup begin again with a later moment."""
CHUNK = 1 << 20
_MEMBER = re.compile(rf"{re.escape(TABLE)}|{re.escape(SECRETS)}|{BLOBS}/[A-Za-z0-9_-]+(?:/[A-Za-z0-9_-]+){{1,3}}")


def backup(data: Path, to: Path) -> None:
    """Write the backup of a folder to a new file, which only its user may read. Raises: CannotServe."""
    if not (data / TABLE).is_file():
        raise CannotServe(f"there is nothing to back up: {data} contains no agents; name their folder with --data-dir")
    if to.exists():
        raise CannotServe(f"{to} exists; name a new file")
    part = to.with_name(f"{to.name}.{secrets.token_hex(4)}.part")
    try:
        check_links(data)
        with tempfile.TemporaryDirectory(prefix="hibernaut-", dir=to.resolve().parent) as temporary:
            folder = Path(temporary)
            _gather(data, folder)
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as archive:
                    for path in _files(folder):
                        archive.add(path, arcname=str(path.relative_to(folder)), recursive=False, filter=_anonymous)
                file.flush()
                os.fsync(file.fileno())
        part.rename(to)
    except (OSError, FileDamaged) as error:
        raise CannotServe(f"{data} cannot be backed up: {error}") from error
    finally:
        part.unlink(missing_ok=True)


def restore(file: Path, data: Path, *, overwrite: bool) -> Path | None:
    """Put a backup in place of a folder that no server has open. Returns where the former folder is now. Raises: CannotServe."""
    try:
        if is_open(data):
            raise CannotServe(f"{data} is open in a server; stop it first")
        if (data / TABLE).exists() and not overwrite:
            raise CannotServe(
                f"{data} contains agents; --overwrite replaces them with the backup (the old folder is kept under another name)"
            )
        fresh = Path(tempfile.mkdtemp(prefix=f"{data.name}.restored-", dir=data.resolve().parent))
        _unpacked(file, fresh)
        _check(fresh)
        former = None
        if (data / TABLE).exists():
            former = data.with_name(f"{data.name}.before-{datetime.now(UTC):%Y%m%dT%H%M%S}")
            data.rename(former)
        elif data.exists():
            for leftover in data.iterdir():  # a folder without agents holds the lock at most
                leftover.unlink()
            data.rmdir()
        fresh.rename(data)
    except tarfile.TarError as error:
        raise CannotServe(f"{file} is no backup: {error}") from error
    except (DataFolderUnusable, OSError) as error:
        raise CannotServe(f"{file} cannot be restored: {error}") from error
    return former


def _gather(data: Path, to: Path) -> None:
    """Copy table, bodies and key so that every body that the table names is there. Raises: CannotServe, FileDamaged, OSError."""
    _copy_bodies(data, to)
    for _ in range(ATTEMPTS):
        (to / TABLE).unlink(missing_ok=True)
        copy_online(data / TABLE, to / TABLE)
        if faults := faults_of(to / TABLE):
            raise FileDamaged(f"{TABLE} is damaged: {faults[0]}")
        _copy_bodies(data, to)
        if not _missing(to):
            break
    else:
        raise CannotServe(f"large bodies of {data} change too fast, or are missing; stop the server and run the command again")
    if (data / SECRETS).is_file():
        _copy(data / SECRETS, to / SECRETS)


def _copy_bodies(data: Path, to: Path) -> None:
    """Copy missing bodies; a body never changes. A body that is deleted during the copy is omitted."""
    for path in _files(data / BLOBS):
        place = to / path.relative_to(data)
        if not place.exists() and not path.name.startswith("."):
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileNotFoundError):
                _copy(path, place)


def _copy(path: Path, to: Path) -> None:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as source:
        _write(to, iter(lambda: source.read(CHUNK), b""))


def _write(to: Path, chunks: Iterator[bytes]) -> None:
    with os.fdopen(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        for chunk in chunks:
            file.write(chunk)


def _missing(folder: Path) -> list[str]:
    """The bodies of items without expiry that are missing in the folder. Raises: FileDamaged if its table cannot be read."""
    blobs, missing = DiskBlobs(folder / BLOBS), []
    query = "SELECT json_extract(attributes, '$.blob') AS blob FROM items WHERE ttl IS NULL AND blob IS NOT NULL AND blob != ''"
    try:
        with closing(sqlite3.connect(folder / TABLE)) as table:
            for (key,) in table.execute(query):
                try:
                    blobs.get(str(key))
                except KeyError:
                    missing.append(str(key))
    except sqlite3.Error as error:
        raise FileDamaged(f"{TABLE}: {error}") from error
    return missing


def _unpacked(file: Path, to: Path) -> None:
    """Write the members of a backup, and nothing else that a file may hold. Raises: CannotServe, TarError, OSError."""
    with tarfile.open(file, "r:gz") as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() and _MEMBER.fullmatch(member.name) else None
            if content is None:
                raise CannotServe(f"{file} is no backup: it holds {member.name!r}")
            place = to / member.name
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write(place, iter(lambda content=content: content.read(CHUNK), b""))  # type: ignore[misc]


def _check(folder: Path) -> None:
    """Raises: CannotServe if the table is missing, damaged, of another version, or names bodies that are missing."""
    try:
        if not (folder / TABLE).is_file() or (faults := faults_of(folder / TABLE)):
            raise CannotServe(f"the backup is damaged: {faults[0] if (folder / TABLE).is_file() else f'it has no {TABLE}'}")
        if (found := format_of(folder / TABLE)) != FORMAT:
            raise CannotServe(f"the backup has format {found}, this version reads format {FORMAT}")
        missing = _missing(folder)
    except FileDamaged as error:
        raise CannotServe(f"the backup is damaged: {error}") from error
    if missing:
        raise CannotServe(f"the backup is damaged: {len(missing)} large bodies are missing")


def _files(folder: Path) -> Iterator[Path]:
    """The regular files below a folder."""
    for root, _, names in os.walk(folder):
        yield from (path for path in sorted(Path(root, name) for name in names) if path.is_file() and not path.is_symlink())


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without the user's name."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member
