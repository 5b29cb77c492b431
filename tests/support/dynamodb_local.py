"""AWS's own DynamoDB, as a process on this machine: started when the first test asks for it, one per test process.

Knows: how the engine of `tools/engines.py` is run. Must not know: what tests keep in it.
"""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hibernaut.adapters.table.definition import create_table
from hibernaut.adapters.table.dynamodb import DynamoDbTable, one_attempt
from tools.engines import DYNAMODB_LOCAL

_SECONDS_TO_START = 60
# Ends the server also where this process is killed: then the pipe, which nobody else holds, is closed.
_GUARD = 'exec 3<&0; "$@" </dev/null & server=$!; (read -r _ <&3; kill -9 $server 2>/dev/null) & wait $server'
_JAVA = ("java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def why_not() -> str | None:
    """Why tests on this engine are skipped here; None where they must run, and so fail where the engine is missing."""
    if missing := DYNAMODB_LOCAL.missing_programs():
        return f"DynamoDB Local needs {' and '.join(missing)}"
    return None


class DynamoDbLocal:
    """The server: in memory, or with its file in the folder `data`, which outlives `kill()`."""

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
        """Ready for requests when it returns. After `kill()` it comes back at the same address."""
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
        """An empty table of its own."""
        self._tables += 1
        name = f"table-{self._tables}"
        create_table(self.client(), name)
        return DynamoDbTable(name, client=self.client(), streams=self.client("dynamodbstreams"))


@pytest.fixture(scope="session")
def dynamodb_local() -> Iterator[DynamoDbLocal]:
    """The one in memory."""
    require()
    server = DynamoDbLocal()
    server.start()
    yield server
    server.close()


def require() -> None:
    """Skip the test where Java or Maven is missing; fail it where they are there and the engine is not."""
    if reason := why_not():
        pytest.skip(reason)
    if not DYNAMODB_LOCAL.is_installed():
        pytest.fail("DynamoDB Local is not installed: run `make engines`")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _listens(port: int) -> bool:
    """One attempt to connect; a refused one is answered at once, so a short pause keeps the waiting cheap."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        time.sleep(0.02)
        return False
    return True
