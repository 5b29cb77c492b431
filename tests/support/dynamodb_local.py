"""DynamoDB Local as a process on this machine. The first test that needs it starts it, once for each test process.

Knows how to run the engine of `tools/engines.py`. Must not know what tests store in it.
"""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hibernaut.adapters.table.dynamodb import DynamoDbTable, one_attempt
from tests.support.created_tables import create_table
from tools.engines import DYNAMODB_LOCAL

_SECONDS_TO_START = 60
# Ends the server even if this process is killed: the pipe, which only this process holds, is then closed.
_GUARD = 'exec 3<&0; "$@" </dev/null & server=$!; (read -r _ <&3; kill -9 $server 2>/dev/null) & wait $server'
_JAVA = ("java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def why_not() -> str | None:
    """The reason why tests on this engine are skipped; None if they must run, and fail without the engine."""
    if missing := DYNAMODB_LOCAL.missing_programs():
        return f"DynamoDB Local needs {' and '.join(missing)}"
    return None


class DynamoDbLocal:
    """The server. Its data is in memory, or in a file of the folder `data`, which survives `kill()`."""

    def __init__(self, data: Path | None = None) -> None:
        self._keeps = ("-inMemory",) if data is None else ("-dbPath", str(data), "-sharedDb")
        self._port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._clients: dict[str, Any] = {}
        self._tables = 0

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start the server and wait until it answers. After `kill()` it restarts at the same address."""
        folder = DYNAMODB_LOCAL.folder
        run = ("-Djava.library.path=native", "-cp", "lib/*", "com.amazonaws.services.dynamodbv2.local.main.ServerRunner")
        command = ("sh", "-c", _GUARD, "guard", *_JAVA, *run, "-port", str(self._port), *self._keeps, "-disableTelemetry")
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet)
        deadline = time.monotonic() + _SECONDS_TO_START
        while not _listens(self._port):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"DynamoDB Local does not start in {folder}")

    def kill(self) -> None:
        """End the process at once, as a crash would."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()
            self._process = None

    def client(self, service: str = "dynamodb") -> Any:
        """A boto3 client that sends each request once; `dynamodb` or `dynamodbstreams`."""
        if service not in self._clients:
            import boto3

            session: Any = boto3.session.Session(
                aws_access_key_id="local", aws_secret_access_key="local", region_name="eu-central-1"
            )
            self._clients[service] = session.client(service, endpoint_url=self.endpoint, config=one_attempt())
        return self._clients[service]

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self.kill()

    def new_table(self) -> DynamoDbTable:
        """A new, empty table."""
        self._tables += 1
        name = f"table-{self._tables}"
        create_table(self.client(), name)
        return DynamoDbTable(name, client=self.client())


@pytest.fixture(scope="session")
def dynamodb_local() -> Iterator[DynamoDbLocal]:
    """The shared server with its data in memory."""
    require()
    server = DynamoDbLocal()
    server.start()
    yield server
    server.close()


def require() -> None:
    """Skip the test if Java or Maven is missing; fail it if only the engine is missing."""
    if reason := why_not():
        pytest.skip(reason)
    if not DYNAMODB_LOCAL.is_installed():
        pytest.fail("DynamoDB Local is not installed: run `make engines`")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _listens(port: int) -> bool:
    """Whether a connection succeeds. A refusal comes at once, so the function pauses briefly before it returns."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        time.sleep(0.02)
        return False
    return True
