"""A real Postgres on a loopback port. It needs the programs `initdb` and `postgres` (Debian: postgresql).

Postgres does not run as root, so under root it runs as its own user.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pg8000.exceptions import Error
from pg8000.native import Connection

PATIENCE = 60.0
USER = "letta"
PASSWORD = "secret of the tests"
_PLACES = ("/usr/local/bin", *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)))


def program(name: str) -> str | None:
    """The path of a program of Postgres: on the PATH, or where Debian puts it."""
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *_PLACES]))
    return os.path.realpath(found) if found else None


def owner() -> str | None:
    """The user that Postgres runs as; None: the user of the tests."""
    if os.getuid() != 0:
        return None
    names = {one.pw_name for one in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in names)


@contextmanager
def running_postgres() -> Iterator[str]:
    """A server with an empty database; yields the URL of its database. Its folder is none of pytest's, which no other user may
    enter.
    """
    memory = Path("/dev/shm")
    place = TemporaryDirectory(prefix="hibernaut-postgres-", dir=memory if memory.is_dir() else None)
    with place as name, _running_in(Path(name)) as url:
        yield url


@contextmanager
def _running_in(folder: Path) -> Iterator[str]:
    user, data = owner(), folder / "data"
    secret = folder / "password"
    secret.write_text(PASSWORD)
    if user is not None:
        for one in (folder, secret):
            shutil.chown(one, user)
    _run(
        user,
        [
            str(program("initdb")),
            "-D",
            str(data),
            "-U",
            USER,
            "-A",
            "scram-sha-256",
            f"--pwfile={secret}",
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
        ],
    )
    port = _free_port()
    options = [
        "-c",
        "listen_addresses=127.0.0.1",
        "-c",
        f"port={port}",
        "-c",
        "unix_socket_directories=",
        "-c",
        "fsync=off",
        "-c",
        "shared_buffers=16MB",
    ]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [str(program("postgres")), "-D", str(data), *options], stdout=log, stderr=log, user=user, cwd="/"
        )
    try:
        _wait_until_ready(server, port, folder)
        yield f"postgresql://{USER}:{PASSWORD.replace(' ', '%20')}@127.0.0.1:{port}/postgres"
    finally:
        server.send_signal(signal.SIGINT)  # Postgres ends open sessions, and then itself
        with suppress(subprocess.TimeoutExpired):
            server.wait(timeout=PATIENCE)
        server.kill()
        server.wait()


def session(port: int) -> Connection:
    """A session that may write."""
    return Connection(USER, host="127.0.0.1", port=port, database="postgres", password=PASSWORD)


def execute(url: str, *statements: str | tuple[str, Mapping[str, Any]]) -> None:
    """Execute statements, in one transaction. Lists and dictionaries become JSON."""
    from json import dumps

    open_session = session(int(url.rpartition(":")[2].partition("/")[0]))
    try:
        open_session.run("START TRANSACTION")
        for one in statements:
            sql, values = (one, {}) if isinstance(one, str) else one
            given = {name: dumps(value) if isinstance(value, dict | list) else value for name, value in values.items()}
            open_session.run(sql, **given)
        open_session.run("COMMIT")
    finally:
        open_session.close()


def _run(user: str | None, command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, user=user, cwd="/", check=False)
    assert done.returncode == 0, done.stderr.decode()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait_until_ready(server: subprocess.Popen[bytes], port: int, folder: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            session(port).close()
            return
        except (Error, OSError):
            assert server.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < deadline, (folder / "log").read_text()
            time.sleep(0.05)
