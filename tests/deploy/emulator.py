"""The emulator as a process of its own on a free loopback port, which ends with this process in any case.

Knows: how it is started, reached and stopped. `emulator_process` knows ministack.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.deploy.programs import EMULATOR

ACCOUNT, REGION = "000000000000", "us-east-1"
PATIENCE = 90.0
"""Seconds within which the emulator must answer."""
CANARY = 1.0
"""Seconds of the first part of a gradual release, in place of minutes, unless a step needs it longer."""


class NotStarted(Exception):
    """The emulator ended at once, or does not answer; the message holds the end of its log."""


@dataclass(frozen=True, slots=True)
class Emulator:
    """A running emulator: its address, the file of its log, and the file with the seconds of a release's first part."""

    url: str
    log: Path
    canary: Path

    def environment(self) -> dict[str, str]:
        """The environment of programs that are to reach it, and that can reach no real account: neither a profile nor an
        address of AWS remains.
        """
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "CDK_"))}
        return {
            **kept,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL": self.url,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "CDK_DEFAULT_ACCOUNT": ACCOUNT,
            "CDK_DEFAULT_REGION": REGION,
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            "CDK_DISABLE_VERSION_CHECK": "true",
            "NO_PROXY": "127.0.0.1,localhost",
        }

    @contextmanager
    def canaries_of(self, seconds: float) -> Iterator[None]:
        """Releases that begin in the context have a first part of so many seconds, unless an alarm ends it."""
        self.canary.write_text(str(seconds), encoding="utf-8")
        try:
            yield
        finally:
            self.canary.write_text(str(CANARY), encoding="utf-8")

    def last_words(self, lines: int = 25) -> str:
        """The end of its log."""
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])


@contextmanager
def emulator(folder: Path) -> Iterator[Emulator]:
    """Run the emulator with its files in `folder`. Raises: NotStarted."""
    port, log = _free_port(), folder / "emulator.log"
    temporary = folder / "tmp"
    temporary.mkdir()
    running = Emulator(f"http://127.0.0.1:{port}", log, folder / "canary")
    running.canary.write_text(str(CANARY), encoding="utf-8")
    own = {"BIND_HOST": "127.0.0.1", "GATEWAY_PORT": str(port), "TMPDIR": str(temporary), "CANARY": str(running.canary)}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [EMULATOR.folder / "venv" / "bin" / "python", Path(__file__).with_name("emulator_process.py")],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=folder,
            env={**running.environment(), **own},
        )
    try:
        _await(running, process)
        yield running
    finally:
        _end(process)


def _await(running: Emulator, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise NotStarted(f"the emulator ended at once:\n{running.last_words()}")
        try:
            with urllib.request.urlopen(f"{running.url}/_ministack/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise NotStarted(f"the emulator does not answer at {running.url}:\n{running.last_words()}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the emulator and the functions that it runs, which are in its process group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()
    process.wait()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
